// Shared by tests of sessions: an orchestrator that holds the guard, intents, and sessions at every stage of their
// life, all through public operations.
import type { Operation } from '../../src/operations/table.ts';
import type { Body, CallAnswer, Sent, Served } from './served.ts';

export const GUARD = {
  name: 'system:orchestrator:guard_lock',
  holder: 'orchestrator-1',
  token: 'the-token-of-the-guard',
};
export const START_QUEUE = 'system:session-starts';
export const LIVE = { type: 'live', serviceRef: '1:0:19:283D:3FB:1:C00000:0:0:0:', profileID: 'high' };

const GUARD_TTL_MS = 3_600_000;
const LEASE_TTL_MS = 15_000;

export class SessionStage {
  readonly served: Served;
  private readonly sent: Omit<Sent, 'body'>;

  constructor(served: Served, sent: Omit<Sent, 'body'> = {}) {
    this.served = served;
    this.sent = sent;
  }

  call(operation: Operation, fields: object): Promise<CallAnswer> {
    return this.served.call(operation, fields, this.sent);
  }

  done(operation: Operation, fields: object): Promise<Body> {
    return this.served.done(operation, fields, this.sent);
  }

  async seq(): Promise<number> {
    return (await this.done('status.get', {})).seq;
  }

  takeGuard(): Promise<Body> {
    return this.done('lease.acquire', { ...GUARD, ttl_ms: GUARD_TTL_MS });
  }

  async accept(fields: object = {}): Promise<string> {
    return (await this.done('intent.accept', { ...LIVE, ...fields })).session_id;
  }

  /** The leases on every start task that waits. */
  async startTasks(): Promise<{ task_id: string; lease_id: string }[]> {
    const { leases } = await this.done('task.lease', {
      worker_id: 'o',
      queues: [START_QUEUE],
      max: 100,
      guard: GUARD,
    });
    return leases;
  }

  start(sessionId: string, leaseId: string, fields: object = {}): Promise<CallAnswer> {
    return this.call('session.start', {
      session_id: sessionId,
      guard: GUARD,
      lease_id: leaseId,
      slots: ['0', '1'],
      ttl_ms: LEASE_TTL_MS,
      ...fields,
    });
  }

  change(sessionId: string, event: string, fields: object = {}): Promise<CallAnswer> {
    return this.call('session.change', { session_id: sessionId, guard: GUARD, event, ...fields });
  }

  /** A session of its own service that is STARTING. */
  async starting(fields: object = {}): Promise<string> {
    const sessionId = await this.accept(fields);
    const task = (await this.startTasks()).find(({ task_id }) => task_id === sessionId)!;
    const { body } = await this.start(sessionId, task.lease_id);
    if (body.state !== 'STARTING') throw new Error(`It did not start: ${JSON.stringify(body)}`);
    return sessionId;
  }

  async ready(fields: object = {}): Promise<string> {
    const sessionId = await this.starting(fields);
    await this.change(sessionId, 'ready');
    return sessionId;
  }

  /** One that has ended by itself. */
  async ended(fields: object = {}): Promise<string> {
    const sessionId = await this.ready(fields);
    await this.change(sessionId, 'process_ended', { detail: 'exit code 1' });
    return sessionId;
  }
}
