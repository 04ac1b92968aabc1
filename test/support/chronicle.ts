// A log with a state beside it, as the authority has them, and a life that touches every kind of opaque: payloads,
// results, late results, values and metadata, of things forgotten and of start tasks included. For tests of engines, without any rules.
import { apply } from '../../src/core/apply.ts';
import { Batch } from '../../src/core/batch.ts';
import type { Entry, LeaseGranted } from '../../src/core/entries.ts';
import { sessionIdOfSeq } from '../../src/core/ids.ts';
import { imageOf, restoreImage } from '../../src/core/image-io.ts';
import type { Opaque } from '../../src/core/opaque.ts';
import { relocateRows, rowsToRelocate } from '../../src/core/relocate.ts';
import type { State } from '../../src/core/state.ts';
import { createState } from '../../src/core/state.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import { FILE_SPAN } from '../../src/engines/frame.ts';
import type { Engine, Log, LoggedEntry, Relocation } from '../../src/engines/log.ts';
import { opaqueOf } from '../../src/operations/opaque-values.ts';
import { taskCreatedEntry } from './task-created.ts';

const START_MS = 1_700_000_000_000;

export class Chronicle {
  readonly state: State;
  readonly log: Log;
  #round: number;

  private constructor(state: State, log: Log) {
    this.state = state;
    this.log = log;
    this.#round = log.epoch * 1_000_000;
  }

  static async open(engine: Engine): Promise<Chronicle> {
    const state = createState();
    const log = await engine.open({
      image: (record) => restoreImage(state, record),
      entry: (entry, seq, atMs) => apply(state, entry, seq, atMs),
    });
    return new Chronicle(state, log);
  }

  /** The first batch of a writer. */
  start(): Promise<void> {
    const { epoch } = this.log;
    return this.write(() => [
      { type: 'EpochStarted', epoch, format: 'leasehold', version: 1, restored: false },
    ]);
  }

  /** One batch in which a little of everything happens. */
  live(length = 40): Promise<void> {
    const round = ++this.#round;
    const text = (what: string) =>
      opaqueOf(Buffer.from(JSON.stringify(`${what} ${round}`.padEnd(length, '.'))));
    const name = `name-${round % 7}`;
    return this.write((seq) => [
      created(seq, text('payload')),
      granted(seq, seq),
      { type: 'TaskCompleted', task: seq, leaseSeq: seq + 1, result: text('result'), writes: [] },
      created(seq + 3, text('payload')),
      { ...granted(seq + 3, seq + 3), expiresAtMs: START_MS + seq },
      { type: 'LeaseExpired', task: seq + 3, leaseSeq: seq + 4, counted: true },
      { type: 'TaskCancelled', task: seq + 3, leaseSeq: seq + 4, verb: 'complete', result: text('late') },
      {
        type: 'NameLeased',
        names: [name, `${name}-twin`],
        holder: `holder of ${name}`,
        tokenHash: String.fromCharCode(round % 256).repeat(32),
        expiresAtMs: START_MS * 2,
        metadata: text('metadata'),
      },
      {
        type: 'ObjectWritten',
        objectId: name,
        leaseSeq: seq + 7,
        version: this.#versionOf(name) + 1,
        value: text('value'),
      },
      {
        type: 'IntentAccepted',
        intent: {
          type: round % 3 === 0 ? 'vod' : 'live',
          target: `t-${round}`,
          profileId: 'low',
          startMs: 0,
        },
        serviceName: round % 3 === 0 ? `lease:vod:t-${round}:0` : `lease:service:t-${round}`,
        key: `key-${round}`,
        payload: text('intent'),
      },
      ...(round % 2 === 0 ? cancelled(seq + 9) : []),
      ...(round % 3 === 0 ? [{ type: 'Forgotten', tasks: [seq], names: [], sessions: [] } as const] : []),
    ]);
  }

  write(make: (firstSeq: number) => readonly Entry[]): Promise<void> {
    const firstSeq = this.state.lastSeq + 1;
    const atMs = START_MS + firstSeq;
    return this.record(make(firstSeq).map((entry, index) => ({ seq: firstSeq + index, atMs, entry })));
  }

  /** One batch of facts that were decided elsewhere. */
  async record(facts: readonly LoggedEntry[]): Promise<void> {
    const [{ seq: firstSeq, atMs }] = facts as [LoggedEntry];
    const batch = new Batch();
    batch.begin(this.log.areaAt);
    this.log.begin(firstSeq, atMs);
    for (const { seq, entry } of facts) {
      batch.add(entry, seq, atMs, 0);
      this.log.add(entry);
      apply(this.state, entry, seq, atMs);
    }
    await this.log.append();
  }

  /** What the authority does with a relocation. */
  adopt({ oldAt, newAt, gone }: Relocation): void {
    relocateRows(this.state, 1, rowsToRelocate(this.state) + 1, (at) => {
      if (!gone.has(Math.floor(at / FILE_SPAN))) return at;
      const index = oldAt.indexOf(at);
      if (index === -1) throw new Error(`Nothing is known about the bytes at ${at}.`);
      return newAt[index]!;
    });
  }

  async compact(): Promise<boolean> {
    const relocation = await this.log.compact();
    if (relocation === null) return false;
    this.adopt(relocation);
    await this.log.dropOld();
    return true;
  }

  get hash(): string {
    return stateHash(this.state);
  }

  /** Every opaque the state refers to, as text; null where the bytes are damaged. */
  async texts(): Promise<(string | null)[]> {
    const found: (string | null)[] = [];
    for (const reference of opaquesIn([...imageOf(this.state)])) {
      const bytes = await this.log.read(reference);
      found.push(bytes === null ? null : Buffer.from(bytes).toString('utf8'));
    }
    return found;
  }

  #versionOf(name: string): number {
    for (const record of imageOf(this.state)) {
      if (record.kind === 'name' && record.name === name) return record.version;
    }
    return 0;
  }
}

const created = (task: number, payload: Opaque): Entry =>
  taskCreatedEntry({ task, dueAtMs: START_MS, payload });

const granted = (task: number, seq: number): LeaseGranted => ({
  type: 'LeaseGranted',
  task,
  workerId: `worker-${seq % 5}`,
  attempt: 1,
  expiresAtMs: START_MS * 2,
  requestId: null,
});

/** A session that ends before it has begun, and its start task with it. */
const cancelled = (session: number): Entry[] => [
  { type: 'TaskDead', task: sessionIdOfSeq(session), leaseSeq: 0, reason: 'R_CANCELLED', detail: null },
  {
    type: 'SessionChanged',
    session,
    state: 'CANCELLED',
    reason: 'R_CANCELLED',
    reasonDetail: null,
    slot: null,
    leaseSeq: 0,
  },
];

/** Every opaque in a value, wherever it is. */
export function* opaquesIn(value: unknown): Generator<Opaque> {
  if (typeof value !== 'object' || value === null) return;
  if ('crc' in value && 'at' in value) yield value as Opaque;
  else for (const item of Object.values(value)) yield* opaquesIn(item);
}
