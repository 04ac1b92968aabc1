// The life of one session as server-sent events, and followers who want some types of entries only, over real sockets.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Body,
  type Served,
  type Stream,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { SessionStage } from '../../test/support/session-stage.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';

let served: Served;
let stage: SessionStage;

beforeEach(async () => {
  served = await startServed();
  stage = new SessionStage(served);
  await stage.takeGuard();
});
afterEach(stopAllServed);

const eventsOf = (sessionId: string, headers: Record<string, string> = {}): Promise<Stream> =>
  served.stream(`/api/v3/sessions/${sessionId}/events`, { headers });

/** What is left of a stream, by type and state. */
async function rest(stream: Stream): Promise<string[]> {
  const found: string[] = [];
  for (let event = await stream.event(); event !== null; event = await stream.event()) {
    expect(event.id).toBe(String(event.data.seq));
    expect(event.event).toBe(event.data.type);
    found.push([event.event, ...(event.data.state === undefined ? [] : [event.data.state])].join(' '));
  }
  return found;
}

const LIFE = [
  'IntentAccepted',
  'SessionChanged STARTING',
  'SessionChanged READY',
  'SessionChanged STOPPING',
  'SessionChanged STOPPED',
];

async function lived(fields: object = {}): Promise<string> {
  const sessionId = await stage.ready(fields);
  await stage.done('session.stop', { session_id: sessionId });
  await stage.change(sessionId, 'stopped');
  return sessionId;
}

describe('the events of a session', () => {
  it('are told from its intent on as they happen, and end with its end', async () => {
    const sessionId = await stage.accept();
    const stream = await eventsOf(sessionId);
    expect(stream.status).toBe(200);
    expect(stream.headers['content-type']).toBe('text/event-stream');
    expect(await stream.event()).toMatchObject({ event: 'IntentAccepted', data: { session_id: sessionId } });
    const [task] = await stage.startTasks();
    await stage.start(sessionId, task!.lease_id);
    expect((await stream.event())!.data).toMatchObject({ state: 'STARTING', slot: '0' });
    // What happens to others is not sent here.
    await stage.ended({ serviceRef: 'another' });
    await stage.change(sessionId, 'process_ended', { detail: 'exit code 7' });
    expect((await stream.event())!.data).toMatchObject({
      state: 'FAILED',
      reason: 'R_PIPELINE_START_FAILED',
      reason_detail: 'exit code 7',
    });
    expect(await stream.event()).toBeNull();
    expect(served.troubles).toEqual([]);
  });

  it('are gone once it has ended, with the problem that asking for the session gives', async () => {
    const sessionId = await lived();
    const [events, session] = await Promise.all(
      ['/events', ''].map((path) => served.send('GET', `/api/v3/sessions/${sessionId}${path}`)),
    );
    const { instance, requestId, ...problem } = expectProblem(events!);
    expect(problem).toMatchObject({
      status: 410,
      code: 'SESSION_TERMINAL',
      session_id: sessionId,
      state: 'STOPPED',
      reason: 'R_CLIENT_STOP',
    });
    expect(expectProblem(session!)).toMatchObject(problem);
  });

  it('are sent to the end to a client that asks for them from a position on', async () => {
    const sessionId = await lived();
    const path = `/api/v3/sessions/${sessionId}/events?from=1`;
    expect(await rest(await served.stream(path))).toEqual(LIFE);
  });

  it('resume behind Last-Event-ID, or from a position, although it has ended meanwhile', async () => {
    const sessionId = await stage.ready();
    const stream = await eventsOf(sessionId);
    await stream.event();
    const { id } = (await stream.event())!;
    stream.destroy();
    await stage.done('session.stop', { session_id: sessionId });
    await stage.change(sessionId, 'stopped');
    expect(await rest(await eventsOf(sessionId, { 'last-event-id': id }))).toEqual(LIFE.slice(2));
    const from = `/api/v3/sessions/${sessionId}/events?from=${Number(id) + 1}`;
    expect(await rest(await served.stream(from))).toEqual(LIFE.slice(2));
  });

  it('are gone for a client that has seen the end, so that no browser comes back for ever', async () => {
    const sessionId = await lived();
    const { seq } = (await stage.done('session.list', {})).sessions[0];
    const headers = { 'last-event-id': String(seq) };
    const answer = await served.send('GET', `/api/v3/sessions/${sessionId}/events`, { headers });
    expect(expectProblem(answer)).toMatchObject({ code: 'SESSION_TERMINAL', state: 'STOPPED' });
  });

  it('are refused where there is no such session, and for what is no position', async () => {
    const unknown = await served.send('GET', '/api/v3/sessions/s0000000000v/events');
    expect(expectProblem(unknown).code).toBe('SESSION_NOT_FOUND');
    const place = `/api/v3/sessions/${await stage.accept()}/events`;
    for (const query of ['?from=-1', '?limit=1', '?types=SessionChanged']) {
      expect(expectProblem(await served.send('GET', place + query)).code).toBe('INVALID_ARGUMENT');
    }
    const headers = { 'last-event-id': 'x' };
    expect(expectProblem(await served.send('GET', place, { headers })).code).toBe('INVALID_ARGUMENT');
  });

  it('end with the lease of a session whose orchestrator has died', async () => {
    const sessionId = await stage.ready();
    const stream = await eventsOf(sessionId);
    served.advance(15_000);
    await stage.call('session.get', { session_id: sessionId });
    expect((await rest(stream)).at(-1)).toBe('SessionChanged FAILED');
  });
});

describe('some types of entries', () => {
  it('are all that a reader of the log is given, and its limit counts them', async () => {
    await lived({ serviceRef: 'a' });
    await lived({ serviceRef: 'b' });
    const lines = async (query: string): Promise<Body[]> =>
      (await served.send('GET', `/v1/log?${query}`)).text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    expect((await lines('from=1&types=IntentAccepted')).map(({ type }) => type)).toEqual([
      'IntentAccepted',
      'IntentAccepted',
    ]);
    const three = await lines('from=1&types=SessionChanged,IntentAccepted&limit=3');
    expect(three.map(({ state }) => state)).toEqual([undefined, 'STARTING', 'READY']);
    const more = await lines(`from=${three[2].seq + 1}&types=SessionChanged,IntentAccepted&limit=3`);
    expect(more.map(({ state }) => state)).toEqual(['STOPPING', 'STOPPED', undefined]);
    expect(await lines('from=1&types=QueuePaused')).toEqual([]);
  });

  it.each(['/v1/log?from=1&follow=1&types=SessionChanged', '/v1/events?from=1&types=SessionChanged'])(
    'are all that a follower is sent: %s',
    async (path) => {
      await stage.starting({ serviceRef: 'a' });
      const stream = await served.stream(path);
      const next = async (): Promise<Body> =>
        path.includes('events') ? (await stream.event())!.data : await stream.line();
      expect(await next()).toMatchObject({ type: 'SessionChanged', state: 'STARTING' });
      await served.done('task.create', { payload: 1 });
      const sessionId = await stage.ready({ serviceRef: 'b' });
      expect(await next()).toMatchObject({ session_id: sessionId, state: 'STARTING' });
      expect(await next()).toMatchObject({ session_id: sessionId, state: 'READY' });
      stream.destroy();
    },
  );

  it('do not disturb followers of everything', async () => {
    const from = (await stage.seq()) + 1;
    const all = await served.stream(`/v1/log?from=${from}&follow=1`);
    const some = await served.stream(`/v1/log?from=${from}&follow=1&types=SessionChanged`);
    await lived();
    const last = await stage.seq();
    for (let seq = from; seq <= last; seq++) expect((await all.line()).seq).toBe(seq);
    for (const state of ['STARTING', 'READY', 'STOPPING', 'STOPPED'])
      expect((await some.line()).state).toBe(state);
  });

  it.each(['types=Nothing', 'types=', 'types=TaskCreated,,TaskDead', 'types=TaskCreated&types=TaskDead'])(
    'must exist: %s',
    async (query) => {
      for (const path of ['/v1/log', '/v1/events']) {
        const problem = expectProblem(await served.send('GET', `${path}?${query}`));
        expect(problem.code).toBe('INVALID_ARGUMENT');
      }
    },
  );
});
