// Limits and turns, said once more in the simplest possible way, over the log as any client reads it: how many leases are
// live, when they were granted, and whose turn it was. It complains about any grant that the limits forbid. It knows
// nothing of windows that open and of keys that are held back: it counts.

type Json = Readonly<Record<string, unknown>>;

interface Task {
  queue: string;
  priority: number;
  readonly key: string | null;
  state: 'READY' | 'DELAYED' | 'LEASED';
  isCancelled?: true;
}

interface Limits {
  readonly max_leased: number | null;
  readonly max_leased_per_key: number | null;
  readonly rate: { readonly count: number; readonly per_ms: number; readonly per_key: boolean } | null;
}

/** A key at one priority of one queue; tasks without key are one. */
interface Turn {
  /** Since which position it could have been served at any time, as far as its own limits go; Infinity while it could not. */
  readySince: number;
  granted: number;
}

const NONE: Limits = { max_leased: null, max_leased_per_key: null, rate: null };

export class LimitsModel {
  private readonly tasks = new Map<string, Task>();
  private readonly limits = new Map<string, Limits>();
  /** By queue, since it has a rate. */
  private readonly grants = new Map<string, { atMs: number; key: string | null }[]>();
  private readonly turns = new Map<string, Turn>();
  private readonly schedules = new Map<string, Json>();
  private lastSeq = 0;

  /** What is wrong with an entry; null when nothing is. */
  observe(seq: number, atMs: number, entry: Json): string | null {
    // Where an entry is missing a writer has started: what begins an epoch is not always shown.
    if (seq > this.lastSeq + 1) this.restart(seq);
    this.lastSeq = seq;
    const id = String(entry.task_id);
    const task = this.tasks.get(id);
    switch (entry.type) {
      case 'TaskCreated': {
        const { queue, priority, key = null } = entry as { queue: string; priority: number; key?: string };
        this.tasks.set(id, { queue, priority, key, state: readyAt(entry.due_at, atMs) });
        return this.settle(seq, this.tasks.get(id)!);
      }
      case 'ScheduleSet':
        this.schedules.set(String(entry.schedule), entry);
        return null;
      case 'ScheduleFired': {
        const plan = this.schedules.get(String(entry.schedule));
        if (entry.task_id === null || plan === undefined) return null;
        return this.observe(seq, atMs, {
          type: 'TaskCreated',
          task_id: entry.task_id,
          queue: plan.queue,
          priority: plan.priority,
          ...(plan.key === undefined ? {} : { key: plan.key }),
          due_at: new Date(atMs).toISOString(),
        });
      }
      case 'TaskChanged': {
        if (task === undefined) return null;
        this.tasks.delete(id);
        this.settle(seq, task);
        const { queue, priority } = entry as { queue: string; priority: number };
        const moved = { ...task, queue, priority, state: readyAt(entry.due_at, atMs) };
        this.tasks.set(id, moved);
        return this.settle(seq, moved);
      }
      case 'LeaseGranted':
        return task === undefined ? null : this.grant(seq, atMs, id, task);
      case 'LeaseExpired':
        return this.move(seq, id, 'READY');
      case 'TaskReleased':
        return this.move(seq, id, readyAt(entry.due_at, atMs));
      case 'TaskFailed':
        return this.move(seq, id, entry.next_state === 'FAILED' ? null : readyAt(entry.due_at, atMs));
      case 'TaskCompleted':
      case 'TaskDead':
        return this.move(seq, id, null);
      case 'TaskCancelRequested':
        if (task !== undefined) task.isCancelled = true;
        return null;
      case 'QueueLimited':
        return this.limit(seq, atMs, entry);
      case 'EpochStarted':
        // Turns begin anywhere after a restart; a restore ends every lease.
        if (entry.restored === true) this.endLeases();
        this.restart(seq);
        return null;
      default:
        return null;
    }
  }

  /** How many live leases a queue has, or one of its keys. */
  leased(queue: string, key?: string | null): number {
    let count = 0;
    for (const task of this.tasks.values())
      if (task.state === 'LEASED' && task.queue === queue && (key === undefined || task.key === key))
        count += 1;
    return count;
  }

  /** The earliest time at which a worker that waits must have been given a task of the queue; Infinity when there is none. */
  servableMs(queue: string): number {
    const { max_leased, max_leased_per_key, rate } = this.limits.get(queue) ?? NONE;
    if (max_leased !== null && this.leased(queue) >= max_leased) return Number.POSITIVE_INFINITY;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const task of this.tasks.values()) {
      if (task.state !== 'READY' || task.queue !== queue) continue;
      const { key } = task;
      if (key !== null && max_leased_per_key !== null && this.leased(queue, key) >= max_leased_per_key)
        continue;
      const grants = (this.grants.get(queue) ?? []).filter((grant) => !rate?.per_key || grant.key === key);
      const isFree = rate === null || (rate.per_key && key === null) || grants.length < rate.count;
      soonestMs = Math.min(soonestMs, isFree ? 0 : grants.at(-rate.count)!.atMs + rate.per_ms);
    }
    return soonestMs;
  }

  private restart(seq: number): void {
    this.turns.clear();
    for (const task of this.tasks.values()) this.settle(seq, task);
  }

  private endLeases(): void {
    for (const [id, task] of this.tasks) {
      if (task.state !== 'LEASED') continue;
      if (task.isCancelled) this.tasks.delete(id);
      else task.state = 'READY';
    }
  }

  private move(seq: number, id: string, state: Task['state'] | null): null {
    const task = this.tasks.get(id);
    if (task === undefined) return null;
    if (state === null) this.tasks.delete(id);
    else task.state = state;
    // The place it had may be what other priorities of its key were waiting for.
    for (const turn of this.turnsOf(task.queue, task.key)) this.settle(seq, { ...task, priority: turn });
    return this.settle(seq, task);
  }

  private limit(seq: number, atMs: number, entry: Json): null {
    const queue = String(entry.queue);
    const before = this.limits.get(queue) ?? NONE;
    const after = entry as unknown as Limits;
    this.limits.set(queue, after);
    const isSame = before.rate !== null && before.rate.per_key === after.rate?.per_key;
    const known = isSame ? (this.grants.get(queue) ?? []) : [];
    // What no longer counted before does not count again.
    const kept = known.filter((grant) => grant.atMs > atMs - before.rate!.per_ms);
    this.grants.set(queue, kept);
    for (const task of this.tasks.values()) if (task.queue === queue) this.settle(seq, task);
    return null;
  }

  private grant(seq: number, atMs: number, id: string, task: Task): string | null {
    const { queue, key } = task;
    const { max_leased, max_leased_per_key, rate } = this.limits.get(queue) ?? NONE;
    task.state = 'LEASED';
    const unfair = this.takeTurn(seq, task);
    if (max_leased !== null && this.leased(queue) > max_leased)
      return `${id} is lease ${this.leased(queue)} of ${queue}, which may have ${max_leased}`;
    if (key !== null && max_leased_per_key !== null && this.leased(queue, key) > max_leased_per_key)
      return `${id} is lease ${this.leased(queue, key)} of ${key} in ${queue}, which may have ${max_leased_per_key}`;
    if (rate !== null) {
      const grants = (this.grants.get(queue) ?? []).filter((grant) => grant.atMs > atMs - rate.per_ms);
      grants.push({ atMs, key });
      this.grants.set(queue, grants);
      const counted = rate.per_key ? grants.filter((grant) => grant.key === key) : grants;
      if ((key !== null || !rate.per_key) && counted.length > rate.count)
        return `${id} is grant ${counted.length} of ${queue} in ${rate.per_ms} ms, which may have ${rate.count}`;
    }
    for (const priority of this.turnsOf(queue, key)) this.settle(seq, { ...task, priority });
    return unfair;
  }

  /** Between two grants of one key, every other key that could be served all the time is served. */
  private takeTurn(seq: number, task: Task): string | null {
    const own = this.turnOf(task);
    const before = own.granted;
    own.granted = seq;
    if (before === 0) return null;
    for (const [name, turn] of this.turns) {
      if (turn === own || !isSameLane(name, nameOf(task))) continue;
      if (turn.readySince < before && turn.granted < before)
        return `${nameOf(task)} is served at ${before} and ${seq}, and ${name} not in between`;
    }
    return null;
  }

  /** Whether its key could be served from now on. Only tasks that were never delayed count, and rates close for good. */
  private settle(seq: number, task: Task): null {
    const turn = this.turnOf(task);
    const isReady = this.hasReady(task) && !this.isHeldBack(task);
    if (!isReady) turn.readySince = Number.POSITIVE_INFINITY;
    else if (turn.readySince === Number.POSITIVE_INFINITY) turn.readySince = seq;
    return null;
  }

  private hasReady({ queue, priority, key }: Task): boolean {
    for (const task of this.tasks.values())
      if (task.state === 'READY' && task.queue === queue && task.priority === priority && task.key === key)
        return true;
    return false;
  }

  private isHeldBack({ queue, key }: Task): boolean {
    const { max_leased_per_key, rate } = this.limits.get(queue) ?? NONE;
    if (key === null) return false;
    if (max_leased_per_key !== null && this.leased(queue, key) >= max_leased_per_key) return true;
    return rate?.per_key === true && (this.grants.get(queue) ?? []).some((grant) => grant.key === key);
  }

  private turnOf(task: Task): Turn {
    const name = nameOf(task);
    let turn = this.turns.get(name);
    if (turn === undefined) {
      turn = { readySince: Number.POSITIVE_INFINITY, granted: 0 };
      this.turns.set(name, turn);
    }
    return turn;
  }

  /** The priorities at which a key of a queue has had tasks. */
  private turnsOf(queue: string, key: string | null): number[] {
    return [...this.turns.keys()]
      .map((name) => JSON.parse(name) as [string, number, string | null])
      .filter(([inQueue, , ofKey]) => inQueue === queue && ofKey === key)
      .map(([, priority]) => priority);
  }
}

function nameOf({ queue, priority, key }: Task): string {
  return JSON.stringify([queue, priority, key]);
}

function isSameLane(one: string, other: string): boolean {
  const lane = (name: string) => JSON.stringify((JSON.parse(name) as unknown[]).slice(0, 2));
  return lane(one) === lane(other);
}

function readyAt(due: unknown, atMs: number): 'READY' | 'DELAYED' {
  return Date.parse(String(due)) > atMs ? 'DELAYED' : 'READY';
}
