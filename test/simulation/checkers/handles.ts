// The lease handles of a run, each with the answers its client got: every answer that acquired or renewed the lease,
// when it was requested and how long it then lasted. A client may rely on the lease from before the request until
// that time has passed.
import type { HeldEvent, LostEvent, ReleasedEvent, UsedEvent } from '../history.ts';
import type { Call, Reading } from './reading.ts';
import { list, text, whole } from './reading.ts';

export interface Assurance {
  readonly call: Call;
  readonly answeredMs: number;
  /** Granted after a wait over a live connection: the client counts from a sample of the authority's clock. */
  readonly isWaited: boolean;
  /** In the one true time of the world. */
  readonly untilMs: number;
}

export interface Handle {
  readonly held: HeldEvent;
  readonly lost: LostEvent | undefined;
  readonly released: ReleasedEvent | undefined;
  readonly uses: readonly UsedEvent[];
  readonly assurances: readonly Assurance[];
}

export function handlesOf(reading: Reading): Handle[] {
  type Open = { -readonly [Key in keyof Handle]: Handle[Key] } & { uses: UsedEvent[] };
  const handles = new Map<number, Open>();
  for (const event of reading.events) {
    if (event.kind === 'held') {
      handles.set(event.handle, {
        held: event,
        lost: undefined,
        released: undefined,
        uses: [],
        assurances: [],
      });
    } else if (event.kind === 'lost' || event.kind === 'used' || event.kind === 'released') {
      const handle = handles.get(event.handle);
      if (handle === undefined) continue;
      if (event.kind === 'used') handle.uses.push(event);
      else if (event.kind === 'lost') handle.lost ??= event;
      else handle.released ??= event;
    }
  }
  const told = assurancesOf(reading);
  for (const handle of handles.values()) {
    const { client, leaseSeq, task, holder } = handle.held;
    handle.assurances = told.get(`${client} ${leaseSeq} ${task ?? holder}`) ?? [];
  }
  return [...handles.values()];
}

function assurancesOf({ calls }: Reading): Map<string, Assurance[]> {
  const told = new Map<string, Assurance[]>();
  for (const call of calls) {
    const { answer } = call;
    if (answer === undefined || answer.status >= 300) continue;
    const { body } = answer;
    for (const lease of [body, ...list(body.leases), ...list(body.extended)]) {
      const remainingMs = whole(lease.remaining_ms);
      if (Number.isNaN(remainingMs) || call.call.op === 'lease.get' || call.call.op === 'lease.list')
        continue;
      // A number may be given out twice, when a disk has lost the first time.
      const key = `${call.call.client} ${whole(lease.lease_seq)} ${text(lease.task_id ?? lease.holder)}`;
      const isWaited = call.call.isLive === true && whole(call.call.request.wait_ms) > 0;
      const fromMs = isWaited ? answer.simMs : call.call.simMs;
      const assurance = { call, answeredMs: answer.simMs, isWaited, untilMs: fromMs + remainingMs };
      told.set(key, [...(told.get(key) ?? []), assurance]);
    }
  }
  return told;
}

/** Until when the client may rely on it, by the answers it had at that moment; undefined without any. */
export function assuredUntil({ assurances }: Handle, simMs: number): number | undefined {
  const known = assurances.filter(({ answeredMs }) => answeredMs <= simMs);
  return known.length === 0 ? undefined : Math.max(...known.map(({ untilMs }) => untilMs));
}

interface Trouble {
  /** A node, or `*` for all clients. */
  readonly target: string;
  readonly what: string;
  readonly simMs: number;
}

const known = new WeakMap<Reading, readonly Trouble[]>();

/** A program that blocked itself counts as blocked. */
function allTroubles(reading: Reading): readonly Trouble[] {
  const found = known.get(reading);
  if (found !== undefined) return found;
  const troubles = reading.events.flatMap((event): Trouble[] => {
    const { simMs } = event;
    if (event.kind === 'blocked') return [{ target: event.client, what: 'process.block', simMs }];
    return event.kind === 'fault' ? [{ target: event.target, what: event.fault, simMs }] : [];
  });
  known.set(reading, troubles);
  return troubles;
}

/** What happened to one node between two times. */
export function troublesOf(reading: Reading, node: string, fromMs: number, toMs: number): string[] {
  return allTroubles(reading)
    .filter(({ target, simMs }) => {
      const isIts = target === node || (target === '*' && node !== 'authority');
      return isIts && simMs >= fromMs && simMs <= toMs;
    })
    .map(({ what }) => what);
}
