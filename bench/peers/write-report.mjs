/** Writes docs/performance.md and the charts beside it from the stored run. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHARTS, charts, markdownReport, pageWith } from './report.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const PAGE = join(root, 'docs', 'performance.md');
export const STORED = join(root, 'bench', 'results', 'peers.json');

/** The stored run; null when there is none. */
export const storedRun = () => (existsSync(STORED) ? JSON.parse(readFileSync(STORED, 'utf8')) : null);

/** Gives a sentence about what was written. */
export function writeReport() {
  const results = storedRun();
  writeFileSync(PAGE, pageWith(readFileSync(PAGE, 'utf8'), markdownReport(results)));
  const folder = join(root, 'docs', CHARTS);
  rmSync(folder, { recursive: true, force: true });
  if (results === null) return `There is no ${STORED}; docs/performance.md says so.`;
  mkdirSync(folder);
  const files = Object.entries(charts(results));
  for (const [name, svg] of files) writeFileSync(join(folder, name), svg);
  return `Wrote ${PAGE} and ${files.length} charts in ${folder}.`;
}
