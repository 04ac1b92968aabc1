// What is said about a failed run: what is wrong and what proves it, the smallest plan that still fails, the last events,
// and the one line that brings it back.
import type { HistoryEvent } from '../history.ts';
import type { Plan } from '../plan.ts';
import type { Outcome } from './run-plan.ts';

const LINE_MAX = 320;
const FINDINGS_SHOWN = 3;
const TAIL_SHOWN = 12;

export function reportOf(outcome: Outcome, plan: Plan | null, command: string): string {
  const lines = [`Seed ${outcome.seed} fails: ${outcome.findings.length} complaints.`];
  for (const { checker, says, proof } of outcome.findings.slice(0, FINDINGS_SHOWN)) {
    lines.push('', `  ${checker}: ${cut(says)}`, ...proof.map((event) => `    ${eventText(event)}`));
  }
  if (plan !== null) lines.push('', '  The smallest plan that still fails so:', ...planLines(plan));
  if (outcome.tail.length > 0) {
    lines.push(
      '',
      '  The last events:',
      ...outcome.tail.slice(-TAIL_SHOWN).map((event) => `    ${eventText(event)}`),
    );
  }
  lines.push('', `  To see it again: ${command}`);
  return lines.join('\n');
}

function planLines({ engine, durationMs, skewMs, workloads, faults }: Plan): string[] {
  return [
    `    ${engine} engine, ${durationMs} ms, clocks up to ${skewMs} ms apart`,
    ...workloads.map(({ name, clients, rounds }) => `    ${name}: ${clients} clients, ${rounds} rounds`),
    ...faults.map(({ atMs, fault, target, forMs, args }) => {
      const more = Object.entries(args).map(([name, value]) => ` ${name} ${value}`);
      return `    at ${atMs} ${fault} of ${target}${forMs > 0 ? ` for ${forMs} ms` : ''}${more.join('')}`;
    }),
    ...(faults.length === 0 ? ['    no faults'] : []),
  ];
}

function eventText({ kind, simMs, ...rest }: HistoryEvent): string {
  return cut(`${simMs.toFixed(3)} ${kind} ${JSON.stringify(rest)}`);
}

function cut(text: string): string {
  return text.length <= LINE_MAX ? text : `${text.slice(0, LINE_MAX)} …`;
}
