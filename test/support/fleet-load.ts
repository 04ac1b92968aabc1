// Work for several servers that stand in for each other, and a memory of everything they acknowledged, to be held
// against the log afterwards: nothing acknowledged may be missing, and no number may stand twice.

import type { EntryRecord } from '../../src/browser.ts';
import { transportOf } from '../../src/client/client.ts';
import { connect, type Leasehold } from '../../src/client-node.ts';

export class FleetLoad {
  /** How many calls were answered with a yes. */
  acknowledged = 0;
  readonly faults: unknown[] = [];
  private readonly tasks = new Set<string>();
  private readonly completed = new Set<string>();
  private readonly grants = new Map<number, string>();
  private readonly doubles: number[] = [];
  private readonly versions = new Map<string, number>();
  private readonly lh: Leasehold;
  private readonly label: string;
  private readonly loops: Promise<void>[] = [];
  private isOver = false;

  constructor(urls: readonly string[], label = 'load') {
    this.lh = connect(urls);
    this.label = label;
  }

  /** So many loops of each kind. */
  start(count: number): void {
    for (let index = 0; index < count; index++) {
      this.loops.push(this.loop(`${this.label}-tasks-${index}`, (n, name) => this.makeTask(n, name)));
      this.loops.push(this.loop(`${this.label}-lease-${index}`, (n, name) => this.takeLease(n, name)));
    }
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.loops);
    await this.lh.close();
  }

  private async loop(name: string, once: (count: number, name: string) => Promise<void>): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      try {
        await once(count, name);
      } catch (fault) {
        this.faults.push(fault);
        return;
      }
    }
  }

  private async makeTask(count: number, queue: string): Promise<void> {
    const made = await this.lh.call('task.create', {
      task_id: `${queue}-${count}`,
      payload: { count },
      queue,
    });
    if (!made.ok) throw new Error(`${made.code}: ${made.detail}`);
    this.acknowledged += 1;
    this.tasks.add(made.task_id);
    const { leases } = granted(await this.lh.call('task.lease', { worker_id: queue, queues: [queue] }));
    for (const { task_id, lease_id, lease_seq } of leases) {
      this.noteGrant(lease_seq, task_id);
      const verdict = granted(await this.lh.call('task.complete', { task_id, lease_id, result: count }));
      if (verdict.outcome !== 'COMMITTED') continue;
      this.acknowledged += 1;
      this.completed.add(task_id);
    }
  }

  private async takeLease(_: number, name: string): Promise<void> {
    const lease = granted(await this.lh.call('lease.acquire', { name, holder: 'loop', ttl_ms: 60_000 }));
    this.noteGrant(lease.lease_seq, name);
    const written = await this.lh.call('object.write', {
      object_id: name,
      value: lease.lease_seq,
      lease: { lease_seq: lease.lease_seq, object_id: name, holder_id: 'loop' },
      if_version: this.versions.get(name) ?? 0,
    });
    this.versions.set(name, granted(written).version);
    this.acknowledged += 1;
  }

  private noteGrant(leaseSeq: number, subject: string): void {
    this.acknowledged += 1;
    if (this.grants.has(leaseSeq)) this.doubles.push(leaseSeq);
    this.grants.set(leaseSeq, subject);
  }

  /** What was acknowledged and is not in the log as it was, and what stands in it twice; nothing, that is. */
  complaints(log: readonly EntryRecord[]): string[] {
    const found: string[] = [];
    for (const [index, { seq }] of log.entries()) {
      if (seq !== index + 1) found.push(`entry ${index + 1} of the log has the seq ${seq}`);
    }
    const made = log.filter(({ type }) => type === 'TaskCreated').map(({ task_id }) => String(task_id));
    const ended = new Set(log.filter(({ type }) => type === 'TaskCompleted').map(({ task_id }) => task_id));
    const known = new Set(made);
    if (known.size !== made.length) found.push('a task was created twice');
    for (const task of this.tasks) if (!known.has(task)) found.push(`the task ${task} is lost`);
    for (const task of this.completed) if (!ended.has(task)) found.push(`the completion of ${task} is lost`);
    for (const [leaseSeq, subject] of this.grants) {
      const entry = log[leaseSeq - 1];
      const subjects = [entry?.task_id, ...((entry?.names as string[] | undefined) ?? [entry?.name])];
      if (!subjects.includes(subject)) found.push(`the grant ${leaseSeq} of ${subject} is lost`);
    }
    for (const leaseSeq of this.doubles) found.push(`lease_seq ${leaseSeq} was given out twice`);
    return found;
  }
}

/** The whole log, as the leader among the servers has it. */
export async function wholeLog(urls: readonly string[]): Promise<EntryRecord[]> {
  const lh = connect(urls);
  try {
    const entries: EntryRecord[] = [];
    for (;;) {
      const page = granted(await transportOf(lh).log({ from: entries.length + 1, limit: 1_000 }));
      if (page.entries.length === 0) return entries;
      entries.push(...page.entries);
    }
  } finally {
    await lh.close();
  }
}

function granted<T extends { readonly ok: boolean }>(reply: T): Extract<T, { readonly ok: true }> {
  if (reply.ok) return reply as Extract<T, { readonly ok: true }>;
  const { code, detail } = reply as unknown as { code: string; detail: string };
  throw new Error(`${code}: ${detail}`);
}
