// The metrics in `docs/metrics.md`: names, types and help as `/metrics` of an authority with all its parts shows them.
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openCore } from '../../src/open.ts';
import { HttpCounts } from '../../src/server/http-counts.ts';
import { Metrics } from '../../src/server/metrics.ts';
import { ManualWorld } from '../support/manual-world.ts';

const BEGIN = '<!-- metrics: generated from the help of /metrics by `npm run generate` -->';
const END = '<!-- end of the metrics -->';

const TEXT = await shown();

/** The page with the metrics of now, older names left out; everything around them is written by hand. */
export function metricsPage(now: string): string {
  const [head, rest] = now.split(BEGIN) as [string, string];
  const rows = [...TEXT.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)]
    .filter(([, name]) => !name!.startsWith('xg2g_'))
    .map(([, name, help, type]) => `| \`${name}\` | ${type} | ${help} |`);
  const table = ['| name | type | what it is, and when to worry |', '|---|---|---|', ...rows].join('\n');
  return `${head}${BEGIN}\n\n${table}\n\n${rest.slice(rest.indexOf(END))}`;
}

async function shown(): Promise<string> {
  const world = new ManualWorld();
  const { authority } = await world.finish(openCore(memoryEngine(), world));
  const loopLag = { watch: () => {}, take: () => ({ meanMs: 0, p99Ms: 0, maxMs: 0 }) };
  const freeBytes = () => Promise.resolve(0);
  const parts = {
    hub: { size: 0, cuts: 0 },
    longPolls: { size: 0 },
    loopLag,
    freeBytes,
    timers: world.timers,
  };
  return world.finish(new Metrics(authority, new HttpCounts(), parts).text());
}
