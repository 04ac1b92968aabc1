// A program that uses the package by its types alone. What must not compile is marked; the compiler complains about a mark
// that marks nothing. `test/types/types.test.ts` compiles it as several kinds of projects see the package.
import {
  type Bulk,
  type Cancelled,
  type Client,
  connect,
  type Duration,
  defineTask,
  type EnqueueReceipt,
  type Entry,
  type EntryOf,
  type ErrorCode,
  type ErrorDetails,
  type Failure,
  type Guarded,
  HandBack,
  type HandlerOf,
  type Held,
  type HistoryOptions,
  type InputOf,
  type Intent,
  type Job,
  type Json,
  job,
  type Lease,
  type LeaseEnd,
  type Leasehold,
  LeaseholdError,
  type LeaseInfo,
  LeaseLostError,
  type LeaseOptions,
  type LeaseSet,
  type Listing,
  type Loss,
  type ObjectInfo,
  type Operation,
  type OutputOf,
  open,
  type QueueInfo,
  type Receipt,
  type RefusedWrite,
  type Reply,
  type Requests,
  type Requeued,
  type RetentionOptions,
  type Session,
  type SessionInfo,
  type SessionState,
  type Status,
  type Task,
  type TaskContext,
  type TaskDefinition,
  type TaskHandler,
  type TaskResult,
  type TaskState,
  type TaskVerdict,
  type Wait,
  type WhyCode,
  type Worker,
  type WorkerInfo,
  type WorkerOptions,
} from 'leasehold';
import { connect as connectPage } from 'leasehold/browser';
import { connect as connectAgain } from 'leasehold/client';
import { acquire as acquireIn, type RuntimeLease, withLease as withLeaseIn } from 'leasehold/postgres';
import { startOrchestrator } from 'leasehold/sessions';
import { testLeasehold } from 'leasehold/testing';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Equal<A, B>): void => undefined;

const mail = defineTask<{ to: string }, number>('mail', { ttl: '30s', dedupKey: ({ to }) => to });
const crawl = defineTask<string, void, { page: number }>('crawl', { key: (url) => url });
const lh: Leasehold = connect('http://127.0.0.1:7420', {
  retry: { tries: 3, within: '5s' },
  onFault: console.error,
});
const again: Leasehold = connectAgain();
const page: Client = connectPage('http://127.0.0.1:7420');

/** As schemas of a library have it. */
interface Schema<Given, Taken = Given> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: Taken };
    readonly types?: { readonly input: Given; readonly output: Taken };
  };
}
declare const dated: Schema<{ on: string }, { on: Date }>;
declare const counted: Schema<number>;
const report = defineTask('report', {
  input: dated,
  output: counted,
  checkpoint: counted,
  key: ({ on }) => on,
});
same<InputOf<typeof report>, { on: string }>(true);
same<OutputOf<typeof report>, number>(true);
same<[InputOf<typeof mail>, OutputOf<typeof mail>], [{ to: string }, number]>(true);
/** In a file of its own. */
const writeReport: HandlerOf<typeof report> = async ({ input, checkpoint }) => {
  await checkpoint(1);
  // @ts-expect-error No page number.
  await checkpoint('one');
  return input.on.getFullYear();
};
// @ts-expect-error The result has to be a number.
const wrongReport: HandlerOf<typeof report> = () => 'text';
// @ts-expect-error The schema says on.
defineTask('report', { input: dated, key: ({ at }) => at });
// @ts-expect-error The schema says text.
defineTask('report', { input: dated, schedule: { every: '1h', input: { on: 3 } } });
// @ts-expect-error The type says text.
defineTask<{ on: string }>('report', { schedule: { every: '1h', input: { on: 3 } } });
// @ts-expect-error No option.
defineTask('report', { input: dated, retry: { maxFailure: 3 } });
const untyped = defineTask('untyped', { key: ({ customer }) => customer });
same<InputOf<typeof untyped>, unknown>(true);

export async function leases(): Promise<void> {
  await using lease = await lh.acquire('n', { ttl: '15s', wait: 500 });
  // @ts-expect-error No duration.
  await lh.acquire('n', { ttl: 'soonish' });
  // @ts-expect-error No unit of ours.
  await lh.acquire('n', { ttl: '15 seconds' });
  // @ts-expect-error No option.
  await lh.acquire('n', { tll: '15s' });
  await using tried = await lh.tryAcquire('n');
  same<typeof tried, Lease | null>(true);
  // @ts-expect-error It may be null.
  tried.assertHeld();
  const { assertHeld, extend, signal, remaining }: Held = lease;
  assertHeld();
  await extend('1m');
  const left: number = remaining();
  const text: string = await lh.withLease('n', ({ name }) => name);
  const count: number = await lh.withLease('n', { ttl: '1m' }, async () => 1);
  // @ts-expect-error The function is last.
  await lh.withLease('n', () => 1, { ttl: '1m' });
  const set: LeaseSet = await lh.acquireAll(['a', 'b']);
  const guarded: string = await lh.guard('g', { grace: '2s' }, (guard: Guarded) => guard.name);
  const held: Held[] = [lease, set];
  await page.withLease('n', async ({ write }) => write({ a: 1 }, { ifVersion: 0 }));
  // @ts-expect-error Workers need a process.
  page.work(mail, () => 1);
  console.log(signal.aborted, left, text, count, guarded, held);
}

export async function tasks(): Promise<void> {
  const receipt: EnqueueReceipt<number> = await lh.enqueue(mail, { to: 'ada' }, { delay: '1m' });
  await lh.enqueue(mail, { to: 'ada' }, { at: new Date() });
  // @ts-expect-error The recipient is missing.
  await lh.enqueue(mail, {});
  const many: readonly Receipt<number>[] = await lh.enqueueMany(mail, [
    { input: { to: 'ada' }, priority: 1 },
  ]);
  const output: number = await receipt.output({ wait: '1m' });
  const result: TaskResult<number> = await lh.receipt(mail, receipt.taskId).result();
  if (result.state === 'COMPLETED') same<typeof result.output, number>(true);
  const worker: Worker = lh.work(mail, ({ input }) => input.to.length);
  lh.work(report, writeReport);
  lh.work(report, { concurrency: 2 }, wrongReport);
  // @ts-expect-error The result has to be a number.
  lh.work(mail, ({ input }) => input.to);
  lh.work(
    mail,
    { concurrency: 2, drainOn: ['SIGINT'], onFault: console.error },
    async ({ extend, write, input }) => {
      await extend('1m');
      await lh.withLease(input.to, (lease) => write(lease.name, 1, lease));
      write('n', 1, { leaseSeq: 1, holder: 'me' });
      if (input.to === '') throw new HandBack('not now', { delay: '5s' });
      return 1;
    },
  );
  // @ts-expect-error The lease on a task covers no object.
  lh.work(mail, (task) => task.write('n', 1, task) ?? 1);
  lh.work(crawl, async ({ checkpoint, lastCheckpoint, key, traceparent }) => {
    same<typeof lastCheckpoint, { page: number } | undefined>(true);
    same<[typeof key, typeof traceparent], [string | null, string | null]>(true);
    await checkpoint({ page: 1 });
    // @ts-expect-error The page is missing.
    await checkpoint({});
  });
  const { duplicate, state }: EnqueueReceipt<void> = await lh.enqueue(crawl, 'u', { key: 'k' });
  await receipt.cancel('not needed');
  const cancelled: Cancelled = await lh.tasks.cancel('t', { reason: 'not needed' });
  const requeued: Requeued = await lh.tasks.requeue('t', { delay: '1m', queue: 'q', priority: 1 });
  // @ts-expect-error No option.
  await lh.tasks.requeue('t', { wait: '1m' });
  console.log(duplicate, state, cancelled.state, requeued.taskId);
  const jobs: Job[] = [job(mail, ({ input }) => input.to.length)];
  lh.work(jobs, { concurrency: 4, onVerdict: late });
  // @ts-expect-error The result has to be a number.
  job(mail, () => 'text');
  // @ts-expect-error No signal that drains.
  lh.work(jobs, { drainOn: ['SIGHUP'] });
  await worker.drain();
  console.log(many, output);
}

function late(verdict: TaskVerdict): void {
  if (verdict.outcome === 'LATE') same<typeof verdict.loss, Loss>(true);
  // @ts-expect-error It is called LATE here.
  if (verdict.outcome === 'CANCELLED') console.log(verdict);
}

export async function knowledge(): Promise<void> {
  const task: Task = await lh.tasks.get('t');
  const found: Listing<Task> = lh.tasks.find({ state: 'DEAD', queue: 'mail' });
  lh.tasks.find({ key: 'k', workerId: 'w', createdAfter: new Date(0), createdBefore: task.createdAt });
  // @ts-expect-error No order.
  lh.tasks.find({ order: 'random' });
  for await (const { taskId } of found) console.log(taskId);
  const bulk: Bulk = lh.tasks.requeueMany({ state: 'DEAD', endedAfter: new Date(0) }, { limit: 10 });
  same<Awaited<typeof bulk>, { readonly done: number; readonly refused: number }>(true);
  for await (const { ok, code } of lh.tasks.cancelMany(['t'], { reason: 'r' })) console.log(ok, code);
  // @ts-expect-error A filter, or ids.
  lh.tasks.cancelMany(1);
  same<(typeof task.leases)[number]['end'], LeaseEnd>(true);
  const { code }: { code: WhyCode } = await lh.tasks.why('t');
  if (code === 'BACKOFF') console.log(code);
  // @ts-expect-error No such code.
  if (code === 'SLEEPING') return;
  const { items, cursor } = await found;
  const queues: readonly QueueInfo[] = await lh.queues.list();
  const lease: LeaseInfo | null = await lh.leases.get('n');
  const object: ObjectInfo | null = await lh.objects.get('n');
  const workers: readonly WorkerInfo[] = await lh.workers.list();
  const refused: readonly RefusedWrite[] = (await lh.objects.refusals()).items;
  const status: Status = await page.status();
  // @ts-expect-error The handle speaks camelCase.
  console.log(status.first_seq, task.task_id);
  for await (const entry of lh.follow({ types: ['TaskCreated', 'NameLeased'] })) {
    same<typeof entry.type, 'TaskCreated' | 'NameLeased'>(true);
    if (entry.type === 'TaskCreated') same<typeof entry.payload, Json | null>(true);
    // @ts-expect-error No such type.
    if (entry.type === 'Nonsense') return;
  }
  // @ts-expect-error No such type.
  lh.follow({ types: ['Nonsense'] });
  const session: Session = await lh.sessions.request({ type: 'live', serviceRef: 's', profileId: 'p' });
  const info: SessionInfo = await session.ready({ wait: '10s' });
  console.log(items, cursor, queues, lease?.holder, object?.version, workers, refused, info.state);
}

export async function wire(): Promise<void> {
  const reply = await lh.call('task.create', { payload: 1, queue: 'mail' }, { requestId: 'r' });
  if (reply.ok) console.log(reply.task_id);
  else same<typeof reply.ok, false>(true);
  // @ts-expect-error No such operation.
  await lh.call('task.make', {});
  // @ts-expect-error No such field.
  await lh.call('task.create', { payload: 1, que: 'mail' });
  // @ts-expect-error For the package itself.
  await lh.call('task.create', { payload: 1 }, { isRenewal: true });
}

export function errors(error: unknown): string {
  if (LeaseholdError.is(error, 'LEASE_HELD')) return error.details.holder ?? error.code;
  if (LeaseholdError.is(error, 'LEASE_LOST')) {
    same<typeof error.code, 'LEASE_LOST'>(true);
    same<typeof error.details.loss, Loss>(true);
    // @ts-expect-error Of another code.
    return error.details.reason;
  }
  if (LeaseholdError.is(error, 'TASK_CANCELLED')) return error.details.reason;
  if (LeaseholdError.is(error, 'TASK_FAILED', 'TASK_TIMEOUT')) return error.details.taskId;
  // @ts-expect-error No such code.
  if (LeaseholdError.is(error, 'NONSENSE')) return '';
  if (error instanceof LeaseLostError) return error.details.loss;
  return LeaseholdError.is(error) ? `${error.code} ${error.effect} ${error.retryable}` : '';
}

export async function others(): Promise<void> {
  await using handle = await open('./data', { retention: { endedTasks: { for: '1h', max: 10 } } });
  await using t = await testLeasehold();
  await t.advance('1s');
  // @ts-expect-error No duration.
  await t.advance('a moment');
  const pool = { query: async () => ({ rows: [] }) };
  const lease: Held & RuntimeLease = await acquireIn(pool, 'nightly', { ttl: '30s' });
  const value: number = await withLeaseIn(pool, 'nightly', async ({ assertHeld }) => {
    assertHeld();
    return 1;
  });
  console.log(handle, again, lease, value, startOrchestrator);
}

/** Each of these can be named. */
export type Named =
  | [
      Duration,
      Entry,
      EntryOf<'TaskDead'>,
      ErrorCode,
      ErrorDetails,
      Failure<'LEASE_LOST'>,
      HistoryOptions,
      Intent,
      LeaseOptions,
    ]
  | [Operation, Reply<object>, Requests, RetentionOptions, SessionState, TaskContext<1>, TaskDefinition]
  | [TaskHandler<1, 2>, TaskState, Wait, WorkerOptions];
