// Pictures of the console for docs/images, from the story in console-story.mjs: `npm run build && node scripts/console-pictures.mjs`.
// Needs Chromium (LEASEHOLD_CHROMIUM, or Debian's chromium-headless-shell), and cwebp and img2webp (Debian: webp).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { tellStory } from './console-story.mjs';

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url));
const SIZE = { width: 1280, height: 800 };
/** Long enough for the lines of the last minutes to show something. */
const SETTLE_MS = 25_000;
const FRAME_MS = 450;
const FRAMES_MAX = 26;

// A missing program is told of before the story begins.
for (const program of ['cwebp', 'img2webp']) execFileSync(program, ['-version'], { stdio: 'ignore' });

const frames = mkdtempSync(join(tmpdir(), 'leasehold-pictures-'));
mkdirSync(IMAGES, { recursive: true });
const story = await tellStory();
const browser = await chromium.launch({
  executablePath: process.env.LEASEHOLD_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox'],
});
let isTold = false;
try {
  await story.told;
  const page = await browser.newPage({
    viewport: SIZE,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
  });
  await page.goto(`${story.url}/#/now`);
  await page.waitForTimeout(SETTLE_MS);
  await picture(page, 'console-now');
  await page.goto(`${story.url}/#/tasks/film-1`);
  await page.getByText('Its completion arrived').first().waitFor();
  await picture(page, 'console-task');
  await page.goto(`${story.url}/#/leases/ledger%3Aeu`);
  await page.getByRole('heading', { name: 'Holders' }).waitFor();
  await picture(page, 'console-lease');
  const animation = await timeMachine(page);
  await browser.close();
  // Encoding blocks this process, and with it the holders and workers of the story.
  await story.end();
  isTold = true;
  execFileSync('img2webp', animation);
} finally {
  await browser.close();
  if (!isTold) await story.end();
  rmSync(frames, { recursive: true, force: true });
}

async function picture(page, name) {
  const file = join(frames, `${name}.png`);
  await page.screenshot({ path: file });
  execFileSync('cwebp', ['-quiet', '-q', '82', '-m', '6', file, '-o', join(IMAGES, `${name}.webp`)]);
}

/** The life of one lease, entry by entry: granted, renewed, expired, taken over, broken, taken over again. */
async function timeMachine(page) {
  const name = 'ledger:eu';
  const response = await fetch(`${story.url}/v1/leases/${encodeURIComponent(name)}/history`);
  const { entries } = await response.json();
  const first = entries[0].seq;
  const shown = entries.filter(({ type }) => type !== 'ObjectWritten').slice(0, FRAMES_MAX);
  const args = ['-loop', '0', '-lossy', '-q', '60', '-m', '6'];
  for (const [index, { seq }] of shown.entries()) {
    await page.goto(`${story.url}/#/leases/${encodeURIComponent(name)}?at_seq=${seq}`);
    await page.getByText(`As of seq ${seq},`).waitFor();
    await page.waitForTimeout(index === 0 ? 1_500 : 600);
    const file = join(frames, `frame-${String(index).padStart(3, '0')}.png`);
    await page.screenshot({ path: file, clip: { x: 0, y: 0, width: SIZE.width, height: 640 } });
    const isChange = shown[index].type !== 'NameRenewed' || seq === first;
    args.push('-d', String(isChange ? FRAME_MS * 4 : FRAME_MS), file);
  }
  return [...args, '-o', join(IMAGES, 'console-time-machine.webp')];
}
