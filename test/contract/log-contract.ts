// The three promises of a log, and everything else the authority relies on, as tests that every engine runs. An engine
// brings a harness: a place that outlives the process writing to it.
import { describe, expect, it } from 'vitest';
import type { Engine, LoggedEntry, LogSnapshot } from '../../src/engines/log.ts';
import {
  appendBatch,
  atMsOf,
  collect,
  openHeard,
  payloadOf,
  payloadText,
  queuePaused,
  readText,
  taskCreated,
} from '../support/log-story.ts';

export interface LogHarness {
  /** An engine on the same place each time. */
  readonly engine: () => Engine;
  /** The writer is gone without a word; what it was promised to be durable is not. */
  readonly crash: () => void | Promise<void>;
  /** What happens to a process that opens the log while another one has it. */
  readonly secondOpener: 'is refused' | 'takes over';
  /** An engine on a copy of a snapshot; null for a log that is not in files. */
  readonly engineFrom: ((snapshot: LogSnapshot) => Promise<Engine>) | null;
  readonly dispose?: () => void | Promise<void>;
}

/** What an entry is in the log: opaque bytes are references there. */
const asLogged = (logged: LoggedEntry): LoggedEntry =>
  logged.entry.type === 'TaskCreated'
    ? { ...logged, entry: { ...logged.entry, payload: { ...logged.entry.payload, bytes: null } } }
    : logged;

export function describeLog(name: string, makeHarness: () => LogHarness | Promise<LogHarness>): void {
  const withHarness = (body: (harness: LogHarness) => Promise<void>) => async () => {
    const harness = await makeHarness();
    try {
      await body(harness);
    } finally {
      await harness.dispose?.();
    }
  };

  describe(`the ${name} log`, () => {
    it(
      'is empty at first, and says so',
      withHarness(async ({ engine }) => {
        const { log, heard } = await openHeard(engine());
        expect(heard.logged).toEqual([]);
        expect(log.position).toEqual({ lastSeq: 0, firstSeq: 1, lastAtMs: 0 });
        expect(log.epoch).toBe(1);
        expect(log.full).toBe(false);
        expect(await collect(log.entries(1, 10))).toEqual([]);
        await log.close();
      }),
    );

    it(
      'is durable: what an append resolved for is there after a crash',
      withHarness(async ({ engine, crash }) => {
        const first = await openHeard(engine());
        const entries = [
          ...(await appendBatch(first.log, 3)),
          ...(await appendBatch(first.log, 2, queuePaused)),
        ];
        await crash();
        const { log, heard } = await openHeard(engine());
        expect(heard.logged).toEqual(
          entries.map((entry, i) => asLogged({ seq: i + 1, atMs: atMsOf(i < 3 ? 1 : 4), entry })),
        );
        expect(log.position).toEqual({ lastSeq: 5, firstSeq: 1, lastAtMs: atMsOf(4) });
        await log.close();
      }),
    );

    it(
      'is ordered: replay is gapless over any number of writers, and their epochs ascend',
      withHarness(async ({ engine, crash }) => {
        for (let writer = 1; writer <= 5; writer++) {
          const { log, heard } = await openHeard(engine());
          expect(log.epoch).toBe(writer);
          expect(heard.seqs).toEqual(Array.from({ length: (writer - 1) * 4 }, (_, i) => i + 1));
          await appendBatch(log, 1);
          await appendBatch(log, 3);
          if (writer % 2 === 0) await crash();
          else await log.close();
        }
      }),
    );

    it(
      'is fenced: there are never two who can append',
      withHarness(async ({ engine, secondOpener }) => {
        const first = await openHeard(engine());
        await appendBatch(first.log, 1);
        if (secondOpener === 'is refused') {
          await expect(openHeard(engine())).rejects.toThrow(/in use by/);
          await appendBatch(first.log, 1);
          await first.log.close();
        }
        const second = await openHeard(engine());
        await expect(appendBatch(first.log, 1)).rejects.toThrow();
        await expect(appendBatch(first.log, 1)).rejects.toThrow();
        const seqs = secondOpener === 'is refused' ? [1, 2] : [1];
        expect(second.heard.seqs).toEqual(seqs);
        await appendBatch(second.log, 1);
        await second.log.close();
        const third = await openHeard(engine());
        expect(third.heard.seqs).toEqual([...seqs, seqs.length + 1]);
        await third.log.close();
      }),
    );

    it(
      'gives back opaque bytes by their position, at once and after a restart',
      withHarness(async ({ engine, crash }) => {
        const lengths = [2, 3, 500, 70_000, 200_000];
        const first = await openHeard(engine());
        const entries = [];
        for (const length of lengths) {
          entries.push(...(await appendBatch(first.log, 2, (seq) => taskCreated(seq, length))));
        }
        for (const [i, entry] of entries.entries()) {
          const text = payloadText(i + 1, lengths[Math.floor(i / 2)]!);
          expect(await readText(first.log, payloadOf(entry))).toBe(text);
        }
        await crash();
        const { log, heard } = await openHeard(engine());
        expect(heard.logged).toHaveLength(entries.length);
        for (const { seq, entry } of heard.logged) {
          expect(payloadOf(entry).bytes).toBe(null);
          const text = payloadText(seq, lengths[Math.floor((seq - 1) / 2)]!);
          expect(await readText(log, payloadOf(entry))).toBe(text);
        }
        await log.close();
      }),
    );

    it(
      'gives back no bytes at all rather than wrong ones',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        const [entry] = await appendBatch(log, 1);
        const payload = payloadOf(entry!);
        expect(await readText(log, { ...payload, crc: payload.crc ^ 1 })).toBe(null);
        expect(await readText(log, { ...payload, length: payload.length - 1 })).toBe(null);
        expect(await readText(log, payload)).toBe(payloadText(1));
        await log.close();
      }),
    );

    it(
      'knows an empty opaque when it sees one',
      withHarness(async ({ engine, crash }) => {
        const empty = { bytes: new Uint8Array(0), at: -1, length: 0, crc: 0 };
        const value = () => ({ ...empty });
        const { log } = await openHeard(engine());
        await appendBatch(log, 2, (seq) => ({
          type: 'ObjectWritten',
          objectId: 'a',
          leaseSeq: seq,
          version: 1,
          value: value(),
        }));
        await crash();
        const again = await openHeard(engine());
        const entry = again.heard.logged[0]!.entry;
        expect(entry.type === 'ObjectWritten' && (await readText(again.log, entry.value))).toBe('');
        await again.log.close();
      }),
    );

    it(
      'lists durable entries from anywhere, as many as asked for',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        for (let i = 0; i < 40; i++) await appendBatch(log, (i % 5) + 1);
        const last = log.position.lastSeq;
        const all = await collect(log.entries(1, Number.POSITIVE_INFINITY));
        expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: last }, (_, i) => i + 1));
        for (const [from, limit] of [
          [1, 1],
          [17, 5],
          [last, 10],
          [last + 1, 10],
          [last - 3, 2],
          [0, 3],
        ] as const) {
          const found = await collect(log.entries(from, limit));
          expect(found).toEqual(all.filter(({ seq }) => seq >= from).slice(0, limit));
        }
        const listed = all[20]!;
        expect(await readText(log, payloadOf(listed.entry))).toBe(payloadText(listed.seq));
        await log.close();
      }),
    );

    it(
      'lists nothing that became durable after it was asked',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        await appendBatch(log, 2);
        const listing = log.entries(1, 10)[Symbol.asyncIterator]();
        expect((await listing.next()).value).toMatchObject({ seq: 1 });
        await appendBatch(log, 2);
        expect((await listing.next()).value).toMatchObject({ seq: 2 });
        expect((await listing.next()).done).toBe(true);
        await log.close();
      }),
    );

    it(
      'says how large the batch is, and forgets it once it is written',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        expect(log.batchBytes).toBe(0);
        expect(log.batchBytesMax).toBeGreaterThan(0);
        const entry = taskCreated(1, 1_000);
        payloadOf(entry).at = log.areaAt;
        log.begin(1, 1);
        const before = log.batchBytes;
        log.add(entry);
        expect(log.batchBytes).toBeGreaterThan(before + 1_000);
        await log.append();
        expect(log.batchBytes).toBe(0);
        await log.close();
      }),
    );

    it(
      'writes nothing for a batch without entries',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        const { bytes } = log.size;
        await log.append();
        log.begin(1, 1);
        await log.append();
        expect(log.position.lastSeq).toBe(0);
        expect(log.size.bytes).toBe(bytes);
        await appendBatch(log, 1);
        await log.close();
        const again = await openHeard(engine());
        expect(again.heard.seqs).toEqual([1]);
        await again.log.close();
      }),
    );

    it(
      'takes commit marks at any time, and shows nothing of them',
      withHarness(async ({ engine, crash }) => {
        const { log } = await openHeard(engine());
        await log.mark();
        await appendBatch(log, 2);
        await log.mark();
        await log.mark();
        const { bytes } = log.size;
        await log.mark();
        expect(log.size.bytes).toBe(bytes);
        const marking = appendBatch(log, 1).then(() => log.mark());
        await log.mark();
        await marking;
        const marked = log.mark();
        await appendBatch(log, 1);
        await marked;
        expect((await collect(log.entries(1, 10))).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
        await crash();
        const again = await openHeard(engine());
        expect(again.heard.seqs).toEqual([1, 2, 3, 4]);
        await again.log.close();
      }),
    );

    it(
      'may jump ahead when it is restored, and goes on from there',
      withHarness(async ({ engine, crash }) => {
        const { log } = await openHeard(engine());
        await appendBatch(log, 2);
        const jump = 2 + 2 ** 40;
        log.begin(jump, atMsOf(jump));
        log.add(queuePaused(jump));
        await log.append();
        await appendBatch(log, 1);
        await crash();
        const again = await openHeard(engine());
        expect(again.heard.seqs).toEqual([1, 2, jump, jump + 1]);
        expect((await collect(again.log.entries(3, 1)))[0]?.seq).toBe(jump);
        await again.log.close();
      }),
    );

    it(
      'gives a snapshot of what is durable, unless it is not in files, and goes on beside it',
      withHarness(async ({ engine, engineFrom }) => {
        const { log } = await openHeard(engine());
        const empty = await log.snapshot();
        expect(empty === null).toBe(engineFrom === null);
        if (empty === null || engineFrom === null) return;
        const lengths = [24, 3_000, 70_000, 24];
        for (const length of lengths) await appendBatch(log, 2, (seq) => taskCreated(seq, length));
        await log.mark();
        await appendBatch(log, 1);
        const writing = appendBatch(log, 3);
        const snapshot = (await log.snapshot())!;
        await writing;
        await appendBatch(log, 2);
        expect(snapshot).toMatchObject({ seq: 9, epoch: 1, atMs: atMsOf(9) });

        const copy = await openHeard(await engineFrom(snapshot));
        expect(copy.heard.logged).toEqual(await collect(log.entries(1, 9)));
        for (const { seq, entry } of copy.heard.logged) {
          expect(await readText(copy.log, payloadOf(entry))).toBe(
            payloadText(seq, lengths[(seq - 1) >> 1] ?? 24),
          );
        }
        expect(copy.log.epoch).toBe(2);
        await appendBatch(copy.log, 1);
        await copy.log.close();
        const nothing = await openHeard(await engineFrom(empty));
        expect(nothing.heard.seqs).toEqual([]);
        await nothing.log.close();

        await snapshot.release();
        await snapshot.release();
        await empty.release();
        await appendBatch(log, 1);
        expect((await collect(log.entries(1, 99))).map(({ seq }) => seq)).toHaveLength(15);
        await log.close();
        await expect(log.snapshot()).rejects.toThrow(/closed/);
      }),
    );

    it(
      'takes nothing more once it is closed',
      withHarness(async ({ engine }) => {
        const { log } = await openHeard(engine());
        await appendBatch(log, 1);
        await log.close();
        expect(() => log.begin(2, 2)).toThrow(/closed/);
        await expect(log.append()).rejects.toThrow(/closed/);
      }),
    );
  });
}
