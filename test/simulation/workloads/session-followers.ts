/**
 * Clients that follow one session after the other: with the client's handle, or as a browser does, which reconnects
 * after its last id until the server says that nothing more will come. They disconnect and return. When the faults
 * are over they stop a session and wait for its end.
 */

import type { SessionRecord } from '../../../src/operations/records.ts';
import { LeaseholdError } from '../../../src/protocol/leasehold-error.ts';
import { isHttpFault } from '../../../src/seams/http.ts';
import type { HeardEvent } from '../history.ts';
import type { ClientProgram } from '../world/client-program.ts';
import { never } from '../world/sim-process.ts';

type Ending = Exclude<HeardEvent['is'], 'entry'>;

interface Heard {
  readonly seq: number;
  readonly type: string;
  readonly state?: unknown;
}

/** One session, and how far it was received. */
interface Watched {
  readonly id: string;
  nextSeq: number;
}

export async function sessionFollowers(program: ClientProgram): Promise<void> {
  const { random } = program;
  let left: Watched | null = null;
  await program.rounds(async () => {
    const isResumed: boolean = left !== null && random.chance(0.6);
    const watched = isResumed ? left : await choose(program, () => true);
    if (watched === null) return program.sleep(50, 1_000);
    const stop = new AbortController();
    void program.sleep(50, 8_000).then(() => stop.abort());
    const how = await follow(program, watched, stop.signal);
    left = how === 'left' || how === 'failed' ? watched : null;
    await program.sleep(1, 500);
  });
  program.doing('waiting until the faults are over');
  while (!program.isQuiet) await program.sleep(500);
  await hearTheEnd(program);
}

/** Of those that are known, one that fits. */
async function choose(
  { leasehold, random }: ClientProgram,
  isMeant: (session: SessionRecord) => boolean,
): Promise<Watched | null> {
  const reply = await leasehold.call('session.list', { limit: 50 });
  const sessions = reply.ok ? reply.sessions.filter(isMeant) : [];
  return sessions.length === 0 ? null : { id: random.pick(sessions).session_id, nextSeq: 0 };
}

/** Without faults, a follower of a session until its end receives that end. */
async function hearTheEnd(program: ClientProgram): Promise<void> {
  const isAlive = ({ state }: SessionRecord): boolean => /^(NEW|STARTING|READY)$/.test(state);
  const watched = await program.bear(() => choose(program, isAlive));
  if (watched === undefined || watched === null) return;
  const { id } = watched;
  program.doing(`stopping ${id} and hearing of its end`);
  const listening = new AbortController();
  const heard = (async (): Promise<Ending> => {
    for (;;) {
      const how = await follow(program, watched, listening.signal);
      if (how !== 'failed') return how;
    }
  })();
  await program.bear(() => program.leasehold.call('session.stop', { session_id: id }));
  const how = await heard;
  program.expect(how !== 'left', `${id} was not followed to its end`);
}

async function follow(program: ClientProgram, watched: Watched, signal: AbortSignal): Promise<Ending> {
  const { id, nextSeq: from } = watched;
  program.doing(`following ${id}`);
  const stream = program.newStream();
  const hear = ({ seq, type, state }: Heard): void => {
    program.heard({ stream, session: id, from, is: 'entry', seq, type, state: String(state ?? '') });
    watched.nextSeq = seq + 1;
  };
  const asBrowser = program.random.chance(0.5);
  const how = await (asBrowser
    ? browse(program, watched, signal, hear)
    : listen(program, watched, signal, hear));
  program.heard({ stream, session: id, from, is: how, seq: 0, type: '', state: '' });
  return how;
}

/** With the handle of the client, which connects again by itself. */
async function listen(
  { leasehold }: ClientProgram,
  { id, nextSeq }: Watched,
  signal: AbortSignal,
  hear: (heard: Heard) => void,
): Promise<Ending> {
  const from = nextSeq > 0 ? { from: nextSeq } : {};
  try {
    for await (const entry of leasehold.sessions.attach(id).follow({ ...from, signal })) hear(entry);
    return signal.aborted ? 'left' : 'ended';
  } catch (fault) {
    if (!(fault instanceof LeaseholdError)) throw fault;
    if (fault.code === 'SESSION_TERMINAL') return 'terminal';
    return fault.code === 'SESSION_NOT_FOUND' ? 'not-found' : 'failed';
  }
}

/** As an EventSource: whatever ends the stream, it comes back with the last id, until it is refused for good. */
async function browse(
  program: ClientProgram,
  watched: Watched,
  signal: AbortSignal,
  hear: (heard: Heard) => void,
): Promise<Ending> {
  while (!signal.aborted) {
    try {
      const status = await browseOnce(program, watched, signal, hear);
      // Without an id it asks for all there is, and of a session that has ended there is nothing.
      if (status === 410) return watched.nextSeq === 0 ? 'gone' : 'terminal';
      if (status === 404) return 'not-found';
    } catch (fault) {
      if (!signal.aborted && !isHttpFault(fault)) throw fault;
    }
    if (program.process.isDead) return never();
    if (!signal.aborted) await program.sleep(20, 1_000);
  }
  return 'left';
}

async function browseOnce(
  { node, process }: ClientProgram,
  { id, nextSeq }: Watched,
  signal: AbortSignal,
  hear: (heard: Heard) => void,
): Promise<number> {
  const { status, chunks } = await node.http(process).stream({
    lane: 'waits',
    method: 'GET',
    origin: 'http://authority:7420',
    path: `/api/v3/sessions/${id}/events`,
    headers: nextSeq > 0 ? { 'last-event-id': String(nextSeq - 1) } : {},
    body: null,
    signal,
  });
  let text = '';
  for await (const chunk of chunks) {
    text += chunk;
    // An event counts once the empty line behind it has come.
    const events = text.split('\n\n');
    text = events.pop()!;
    if (status >= 400) continue;
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) hear(JSON.parse(data) as Heard);
      if (signal.aborted) return status;
    }
  }
  return status;
}
