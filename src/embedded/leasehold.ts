/**
 * leasehold in this process: the operations of the contract as typed calls. Requests and bodies are spelt
 * as on the wire; a refusal is a value (`ok: false`), only a failing world throws.
 */
import type { Authority } from '../authority/authority.ts';
import { type Counts, countAll, guardHolder, listQueues } from '../authority/reads.ts';
import type { Timers } from '../authority/seams.ts';
import { instant } from '../protocol/instant.ts';
import type { Reads } from '../protocol/requests.ts';
import { type EntryBody, type EntryListing, entryBody } from './entry-bodies.ts';
import { Leases } from './leases.ts';
import { Objects } from './objects.ts';
import { Operator, type Reply, type Run } from './operator.ts';
import { type QueueBody, queueBody, type WorkerBody, workerBody } from './records.ts';
import { Tasks } from './tasks.ts';

export interface Status {
  readonly ok: true;
  readonly role: 'leader';
  readonly seq: number;
  readonly first_seq: number;
  readonly epoch: number;
  readonly last_commit: string;
  readonly log_bytes: number;
  readonly disk_full: boolean;
  /** Who holds the orchestrator's guard; null when nobody does. */
  readonly guard_holder: string | null;
  readonly counts: Counts;
}

export class Leasehold implements AsyncDisposable {
  readonly task: Tasks;
  readonly lease: Leases;
  readonly object: Objects;
  /** Extends every listed lease and tells which are lost. */
  readonly heartbeat: Run<'worker.heartbeat'>;
  readonly pause: Run<'queue.pause'>;
  readonly resume: Run<'queue.resume'>;
  private readonly operator: Operator;
  private readonly timers: Timers;

  constructor(authority: Authority, timers: Timers, newToken: () => string) {
    this.operator = new Operator(authority, newToken);
    this.timers = timers;
    this.task = new Tasks(this.operator, timers);
    this.lease = new Leases(this.operator);
    this.object = new Objects(this.operator);
    this.heartbeat = this.operator.prepare('worker.heartbeat');
    this.pause = this.operator.prepare('queue.pause');
    this.resume = this.operator.prepare('queue.resume');
  }

  async queues(): Promise<{ readonly ok: true; readonly queues: readonly QueueBody[] }> {
    return { ok: true, queues: (await this.operator.authority.read(listQueues)).map(queueBody) };
  }

  /** Who was heard of lately; soft state that starts empty. */
  async workers(): Promise<{ readonly ok: true; readonly workers: readonly WorkerBody[] }> {
    const { authority } = this.operator;
    const workers = await authority.read((machine) => authority.workers.list(machine.batchAtMs));
    return { ok: true, workers: workers.map(workerBody) };
  }

  /** Durable entries from a position on; without one, from the first that is kept. */
  log(request: Reads['log.read'] = {}): Promise<Reply<EntryListing>> {
    return this.operator.read<'log.read', EntryListing>('log.read', request, async () => {
      const { log } = this.operator.authority;
      const { firstSeq } = log.position;
      const { from = firstSeq, limit = 100 } = request;
      if (Math.max(1, from) < firstSeq) return { refused: 'LOG_COMPACTED', firstSeq };
      const entries: EntryBody[] = [];
      for await (const logged of log.entries(from, limit)) entries.push(await entryBody(log, logged));
      return { ok: true, entries };
    });
  }

  /** Calls back with every entry once it is durable, in order; gives the call that ends it. */
  follow(follower: (entry: EntryBody) => void): () => void {
    const { feed, log } = this.operator.authority;
    if (typeof follower !== 'function') throw new TypeError('A follower must be a function.');
    let told: Promise<void> = Promise.resolve();
    let isFollowing = true;
    const tell = (entry: EntryBody): void => {
      try {
        follower(entry);
      } catch (fault) {
        // A follower's mistake is its own: it ends as an uncaught exception, and the feed goes on.
        this.timers.soon(() => {
          throw fault;
        });
      }
    };
    const unfollow = feed.follow((entries) => {
      told = told.then(async () => {
        for (const logged of entries) {
          const body = await entryBody(log, logged);
          if (isFollowing) tell(body);
        }
      });
    });
    return () => {
      isFollowing = false;
      unfollow();
    };
  }

  status(): Promise<Status> {
    const { authority } = this.operator;
    const { log } = authority;
    return authority.read((machine) => ({
      ok: true,
      role: 'leader',
      seq: machine.state.lastSeq,
      first_seq: log.position.firstSeq,
      epoch: log.epoch,
      last_commit: instant(machine.state.lastAtMs),
      log_bytes: log.size.bytes,
      disk_full: log.full,
      guard_holder: guardHolder(machine),
      counts: countAll(machine),
    }));
  }

  /** Decides what is already waiting, then lets go of the data directory. */
  close(): Promise<void> {
    return this.operator.authority.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
