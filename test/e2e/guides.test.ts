// The code blocks of README.md and of the guides that need no database, run as they are printed there.
import { describe, expect, it, onTestFinished } from 'vitest';
import { PageBench } from '../support/page-bench.ts';
import { blocksOf, pagesRunBy } from '../support/page-blocks.ts';

describe('the code blocks', () => {
  it.each(pagesRunBy(import.meta.url))('of %s run, and print what their comments say', async (page) => {
    const bench: PageBench = new PageBench({
      s00000000004: async (): Promise<string> =>
        (await (await fetch(`${bench.url}/api/v3/sessions`)).json()).sessions[0].session_id,
    });
    onTestFinished(() => bench.close());
    bench.program('train', 'echo epoch 1\nexec sleep 1000');
    expect(blocksOf(page).length).toBeGreaterThan(0);
    await bench.run(page);
  });

  it('of README.md run without a server when they open a directory instead', async () => {
    const bench = new PageBench();
    onTestFinished(() => bench.close());
    await bench.run('README.md', {
      change: (program) =>
        program.replace('{ connect', '{ open').replace('connect()', "await open('./embedded-data')"),
    });
  });
});
