// Which calls can be the cause of what happens to sessions, their leases and their start tasks. Whatever only the
// orchestrator may do must have been asked for with the guard that is live at that position of the log: so a write by
// one who has lost it has no cause.
import { GUARD, type Ownership } from './ownership.ts';
import type { Call, Fact } from './reading.ts';
import { hashOf, record, text, whole } from './reading.ts';

/** What a call about sessions could be the cause of. */
export function sessionKeysOf({ call }: Call): string[] {
  const { op, request } = call;
  const id = text(request.session_id);
  const { name, holder, token } = record(request.guard);
  const guard = `${text(name)} ${text(holder)} ${hashOf(token)}`;
  switch (op) {
    case 'intent.accept':
      return ['intent.accept'];
    case 'session.stop':
      return [`session.stop ${id}`];
    case 'session.start':
      return [`session.start ${id} under ${guard}`];
    case 'session.change':
      return [`session.change ${id} ${text(request.event)} under ${guard}`];
    case 'session.renew':
      return Array.isArray(request.session_ids)
        ? request.session_ids.map((each) => `session.renew ${text(each)} under ${guard}`)
        : [];
    case 'task.lease':
      return request.guard === undefined ? [] : [`task.lease ${text(request.worker_id)} under ${guard}`];
    case 'lease.wipe':
      return [`lease.wipe under ${guard}`];
    case 'lease.acquire':
      return request.supersedes === undefined
        ? []
        : [`supersede ${text(request.name)} ${whole(request.supersedes)}`];
    default:
      return [];
  }
}

/** Any of these must have been asked; null when time or another entry is the cause, undefined when no session is concerned. */
export function sessionCausesOf({ entry }: Fact, before: Ownership): string[] | null | undefined {
  const lease = before.names.get(GUARD)?.lease;
  const under = `under ${GUARD} ${lease?.owner ?? '?'} ${lease?.tokenHash ?? '?'}`;
  const task = before.tasks.get(text(entry.task_id));
  const isStart = task?.created.entry.type === 'IntentAccepted';
  switch (entry.type) {
    case 'IntentAccepted':
      return ['intent.accept'];
    case 'NameLeased':
      return isSessionId(text(entry.holder)) ? [`session.start ${text(entry.holder)} ${under}`] : undefined;
    case 'NameRenewed': {
      const holder = before.names.get(text(entry.name))?.lease?.owner ?? '';
      return isSessionId(holder) ? [`session.renew ${holder} ${under}`] : undefined;
    }
    case 'NameBroken':
      return [`lease.break ${text(entry.name)}`, `supersede ${text(entry.name)} ${whole(entry.lease_seq)}`];
    case 'LeaseGranted':
      return isStart ? [`task.lease ${text(entry.worker_id)} ${under}`] : undefined;
    case 'TaskCompleted':
      return isStart ? [`session.start ${text(entry.task_id)} ${under}`] : undefined;
    case 'TaskReleased':
      return isStart ? [`lease.wipe ${under}`, `gone ${task?.lease?.owner ?? ''}`] : undefined;
    case 'TaskDead':
      if (entry.reason === 'ATTEMPTS_EXHAUSTED' || entry.reason === 'PAYLOAD_DAMAGED') return null;
      return isStart ? endingsOf(text(entry.task_id), under) : undefined;
    case 'SessionChanged':
      return changeCausesOf(entry, before, under);
    default:
      return undefined;
  }
}

function changeCausesOf(entry: Fact['entry'], before: Ownership, under: string): string[] | null {
  const id = text(entry.session_id);
  const session = before.sessions.get(id);
  if (session !== undefined && !before.isServed(session)) return null;
  // A start task that can never be taken in ends the session that waits for it.
  if (session?.state === 'NEW' && before.tasks.get(id)?.state === 'DEAD') return null;
  switch (entry.state) {
    case 'STARTING':
      return [`session.start ${id} ${under}`];
    case 'READY':
      return [`session.change ${id} ready ${under}`];
    case 'STOPPING':
      if (entry.reason === 'R_CLIENT_STOP') return [`session.stop ${id}`];
      return [`session.change ${id} ${entry.reason === 'R_IDLE_TIMEOUT' ? 'idle' : 'shutdown'} ${under}`];
    default:
      return [
        ...endingsOf(id, under),
        `session.start ${id} ${under}`,
        ...(session?.state === 'NEW' ? [`task.kill ${id}`] : []),
      ];
  }
}

function endingsOf(id: string, under: string): string[] {
  const events = ['stopped', 'process_ended', 'start_failed'];
  return [`session.stop ${id}`, ...events.map((event) => `session.change ${id} ${event} ${under}`)];
}

export function isSessionId(holder: string): boolean {
  return /^s[0-9a-v]{11}$/.test(holder);
}
