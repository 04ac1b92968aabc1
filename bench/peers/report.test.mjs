// The report of a stored run: tables, charts, and the page in docs/, which must say what is stored.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { barChart } from './bar-chart.mjs';
import { withRun } from './keep-run.mjs';
import { CHARTS, charts, figureText, markdownReport, pageWith, plainTable } from './report.mjs';
import { summary } from './statistics.mjs';
import { workOf } from './works.mjs';
import { PAGE, storedRun } from './write-report.mjs';

const entry = (work, width, peer, variant, durable, rounds) => ({
  ...{ work, width, peer, variant, durable, rounds, date: '2026-01-02T03:04:05.000Z' },
  summary: summary(rounds),
});
const rate = (...values) =>
  values.map((perSecond) => ({ perSecond, p50Ms: 1, p99Ms: 2.345, clientUs: 10, serverUs: null }));
const run = {
  date: '2026-01-02T03:04:05.000Z',
  rounds: 3,
  payloadBytes: 256,
  machine: { cpu: 'CPU', cores: 2, memoryGiB: 24, system: 'linux 6.1' },
  versions: { leasehold: '1.0.0', etcd: '3.4.23' },
  measured: [
    entry('lock', 64, 'etcd', 'a & <b>', 'no', rate(1_000, 900, 1_200)),
    entry('lock', 64, 'leasehold', 'HTTP', 'yes', rate(15_800, 14_000, 16_000)),
    entry('latency', 64, 'leasehold', 'HTTP', 'yes', [{ p50Ms: 2, perSecond: 2_000 }]),
    entry('latency', 64, 'etcd', 'other', 'yes', [{ p50Ms: 1, perSecond: 2_000 }]),
  ],
  skipped: [{ work: 'lock', peer: 'sketch', variant: 'own', reason: 'A reason.' }],
  failed: [
    { work: 'lock', width: 64, peer: 'redlock', variant: 'own', round: 2, fault: 'It broke.\n  at x' },
  ],
};

describe('the tables', () => {
  it('have medians, the spread of the leading figure, and the best first', () => {
    const [heading, first, second] = plainTable(workOf('lock'), 64, run).split('\n');
    expect(heading).toMatch(/durable +per second +spread +p50 ms +p99 ms +client CPU µs +server CPU µs$/);
    expect(first).toMatch(/^ {2}leasehold, HTTP +yes +15 800 +14 000 – 16 000 +1\.00 +2\.35 +10\.0 +–$/);
    expect(second).toMatch(/^ {2}etcd, a & <b> +no +1 000 +900 – 1 200/);
  });

  it('put the lowest first where lower is better', () => {
    expect(plainTable(workOf('latency'), 64, run)).toMatch(/etcd.*\n.*leasehold/);
  });

  it('group digits and show what is not known as a dash', () => {
    expect(figureText(1_234_567.8, 0)).toBe('1 234 568');
    expect(figureText(0.126, 2)).toBe('0.13');
    expect(figureText(undefined, 0)).toBe('–');
  });
});

describe('the page', () => {
  it('names machine and versions, and the traps, skips and failures beside each work', () => {
    const report = markdownReport(run);
    expect(report).toContain('Measured on 2026-01-02: 2 × CPU, 24 GiB');
    expect(report).toContain('64 in flight, 3 rounds:');
    expect(report).toContain('leasehold 1.0.0, etcd 3.4.23');
    expect(report).toContain('![Lock cycles on distinct names](peers/lock.svg)');
    expect(report).toContain('| leasehold, HTTP | yes | 15 800 | 14 000 – 16 000 |');
    for (const trap of workOf('lock').traps) expect(report).toContain(`- ${trap}`);
    expect(report).toContain('- sketch, own is not measured: A reason.');
    expect(report).toContain('- redlock, own, 64 in flight, round 2 failed: It broke.\n');
    expect(report).not.toContain('Renewals');
  });

  it('is replaced between its marks only', () => {
    const page = readFileSync(PAGE, 'utf8');
    const changed = pageWith(page, 'new text');
    expect(changed).toContain('-->\n\nnew text\n\n<!-- peers: end -->');
    expect(pageWith(changed, markdownReport(storedRun()))).toBe(page);
    expect(() => pageWith('no marks', 'text')).toThrow('The page has no part between');
  });

  it('in docs says what the stored run says: run `npm run bench -- peers --report`', () => {
    const stored = storedRun();
    const page = readFileSync(PAGE, 'utf8');
    expect(pageWith(page, markdownReport(stored))).toBe(page);
    const folder = join(dirname(PAGE), CHARTS);
    const drawn = existsSync(folder) ? readdirSync(folder) : [];
    const wanted = stored === null ? {} : charts(stored);
    expect(Object.fromEntries(drawn.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))).toEqual(
      wanted,
    );
  });
});

describe('a run that is kept', () => {
  const later = {
    ...run,
    date: '2026-02-03T00:00:00.000Z',
    versions: { leasehold: '1.1.0', redis: '7' },
    measured: [entry('lock', 64, 'leasehold', 'live', 'yes', rate(20_000))],
    skipped: [],
    failed: [],
  };

  it('replaces whole tables and leaves the others', () => {
    const kept = withRun(run, later);
    expect(kept.measured.map(({ work, peer, variant }) => `${work} ${peer}, ${variant}`)).toEqual([
      'latency leasehold, HTTP',
      'latency etcd, other',
      'lock leasehold, live',
    ]);
    expect(kept.failed).toEqual([]);
    expect(kept.versions).toEqual({ leasehold: '1.1.0', etcd: '3.4.23', redis: '7' });
  });

  it('is the first where none is stored', () => {
    expect(withRun(null, later)).toBe(later);
  });
});

describe('the charts', () => {
  it('are one a work, with a bar for each peer', () => {
    const drawn = charts(run);
    expect(Object.keys(drawn)).toEqual(['lock.svg', 'latency.svg']);
    expect(drawn['lock.svg']).toContain('64 in flight, per second');
    expect(drawn['lock.svg']).toContain('etcd, a &amp; &lt;b&gt;');
    expect(drawn['latency.svg']).toContain('p50 ms, lower is better');
  });

  it('draw bars in proportion, hatched when not durable, with a line from lowest to highest', () => {
    const bar = (label, value, isDurable) => ({
      ...{ label, value, min: value / 2, max: value, text: `${value}` },
      ...{ isOurs: false, isDurable },
    });
    const svg = barChart('title', [{ title: 'panel', bars: [bar('a', 100, true), bar('b', 50, false)] }]);
    expect([...svg.matchAll(/<rect x="270" y="\d+" width="(\d+)"/g)].map(([, width]) => width)).toEqual([
      '460',
      '230',
    ]);
    expect(svg.match(/fill="url\(#hatch-8a8f98\)"/g)).toHaveLength(2);
    expect(svg).toContain('<line x1="500"');
  });

  it('draw a panel whose values are all zero', () => {
    const zero = { label: 'a', value: 0, min: 0, max: 0, text: '0', isOurs: true, isDurable: true };
    expect(barChart('title', [{ title: 'panel', bars: [zero] }])).not.toMatch(/NaN|Infinity/);
  });
});
