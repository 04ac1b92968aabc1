/** **Sessions**: intent → session → leases, one line each; start and stop. A busy rejection links to the blocking session. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Body } from '../../browser.ts';
import { ask, may } from '../data/connection.ts';
import { useFeed } from '../data/feed.ts';
import { historyOfTask } from '../data/history.ts';
import { hrefOf } from '../data/route.ts';
import { visible } from '../data/visible.ts';
import { watch } from '../data/watch.ts';
import { CopyCurl } from '../parts/copy.tsx';
import { confirm } from '../parts/dialog.tsx';
import { Empty, Fault, Shown } from '../parts/notices.tsx';
import { RawEntries } from '../parts/raw-entries.tsx';
import { Ago, Field, Instant, Name, NameLink, State } from '../parts/text.tsx';

type Session = Body<'session.list'>['sessions'][number];

const SHOWN = 200;

const ENDED: ReadonlySet<string> = new Set(['STOPPED', 'FAILED', 'CANCELLED']);

export function SessionsPage() {
  const [isStarting, setStarting] = useState(false);
  const feed = useFeed('sessions', (signal) => ask('session.list', { limit: SHOWN }, signal));
  return (
    <>
      <h1>Sessions</h1>
      {may('v3:write') && (
        <div class="actions">
          <button type="button" onClick={() => setStarting(true)}>
            Start…
          </button>
        </div>
      )}
      {isStarting && (
        <StartDialog
          onClose={() => {
            setStarting(false);
            feed.again();
          }}
        />
      )}
      <Shown feed={feed}>
        {({ sessions, next_cursor: next }) => (
          <>
            {sessions.length === 0 ? (
              <Empty>No session was requested.</Empty>
            ) : (
              <SessionTable sessions={sessions} />
            )}
            {next !== undefined && <p class="soft">Only the first {SHOWN} are shown.</p>}
          </>
        )}
      </Shown>
    </>
  );
}

function SessionTable({ sessions }: { sessions: readonly Session[] }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Sessions">
      <table>
        <thead>
          <tr>
            <th scope="col">Intent</th>
            <th scope="col">Session</th>
            <th scope="col">State</th>
            <th scope="col">Leases</th>
            <th scope="col" class="num">
              Changed
            </th>
            <th scope="col">Why it ended</th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.session_id}>
              <td>
                <IntentText session={session} />
              </td>
              <th scope="row">
                <NameLink view="sessions" text={session.session_id} />
              </th>
              <td>
                <State of={session.state} />
              </td>
              <td>
                <Leases session={session} />
              </td>
              <td class="num">
                <Ago at={session.updated_at} />
              </td>
              <td>
                <Reason session={session} sessions={sessions} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function IntentText({ session }: { session: Session }) {
  return (
    <>
      {session.type} <Name text={session.serviceRef ?? session.recordingID ?? ''} />{' '}
      <span class="soft">
        {session.start_ms !== undefined && session.start_ms > 0 && `from ${session.start_ms} ms, `}as{' '}
        <Name text={session.profileID} />
      </span>
    </>
  );
}

function Leases({ session: { slot, lease_seq: leaseSeq, state, session_id: id } }: { session: Session }) {
  if (leaseSeq === undefined) return <span class="zero">–</span>;
  return (
    <>
      {slot === undefined ? null : ENDED.has(state) ? (
        `slot ${slot} `
      ) : (
        <NameLink view="leases" text={`lease:tuner:${slot}`} />
      )}{' '}
      <span class="soft figure" title={`held as ${id}`}>
        under {leaseSeq}
      </span>
    </>
  );
}

const SAYS: Readonly<Record<string, string>> = {
  R_LEASE_BUSY: 'Another session runs this service',
  R_NO_TUNER: 'No slot was free',
  R_CLIENT_STOP: 'Stopped by a client',
  R_CANCELLED: 'Stopped before it started',
  R_LEASE_EXPIRED: 'It lost its lease',
  R_PIPELINE_START_FAILED: 'The pipeline did not start',
  R_PROCESS_ENDED: 'The pipeline ended by itself',
  R_SHUTDOWN: 'The orchestrator shut down',
  R_IDLE_TIMEOUT: 'Its client stopped sending heartbeats',
};

function Reason({ session, sessions }: { session: Session; sessions: readonly Session[] }) {
  const { reason, reason_detail: detail } = session;
  if (reason === null) return null;
  const inTheWay =
    reason === 'R_LEASE_BUSY'
      ? sessions.find(
          (each) =>
            !ENDED.has(each.state) &&
            each.serviceRef === session.serviceRef &&
            each.recordingID === session.recordingID,
        )
      : undefined;
  return (
    <>
      <span title={reason}>{SAYS[reason] ?? reason}</span>
      {detail !== null && !detail.startsWith('REJECTED_') && <span class="soft">: {visible(detail)}</span>}
      {inTheWay !== undefined && (
        <>
          : <NameLink view="sessions" text={inTheWay.session_id} />
        </>
      )}
    </>
  );
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [type, setType] = useState<'live' | 'vod'>('live');
  const [target, setTarget] = useState('');
  const [profile, setProfile] = useState('');
  const [fault, setFault] = useState<unknown>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setFault(null);
    try {
      await ask('intent.accept', {
        type,
        profileID: profile,
        ...(type === 'live' ? { serviceRef: target } : { recordingID: target }),
      });
      dialog.current?.close();
    } catch (refusal) {
      setFault(refusal);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="start-title" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="start-title">Start a session</h2>
        <p>
          The intent is recorded at once; the orchestrator takes the leases and starts the pipeline. The same
          intent again returns the existing session.
        </p>
        <label class="stacked">
          Type
          <select value={type} onInput={(event) => setType(event.currentTarget.value as 'live' | 'vod')}>
            <option value="live">live</option>
            <option value="vod">vod</option>
          </select>
        </label>
        <label class="stacked">
          {type === 'live' ? 'serviceRef' : 'recordingID'}
          <input
            value={target}
            autocomplete="off"
            onInput={(event) => setTarget(event.currentTarget.value)}
          />
        </label>
        <label class="stacked">
          profileID
          <input
            value={profile}
            autocomplete="off"
            onInput={(event) => setProfile(event.currentTarget.value)}
          />
        </label>
        <Fault fault={fault} />
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={target === '' || profile === ''}>
            Start the session
          </button>
        </div>
      </form>
    </dialog>
  );
}

export function SessionPage({ id }: { id: string }) {
  const feed = useFeed(`session ${id}`, (signal) =>
    ask('session.get', { session_id: id, ended: 'ok' }, signal),
  );
  const leases = useFeed(`leases of ${id}`, async (signal) => {
    return (await ask('lease.list', { holder: id, limit: 100 }, signal)).leases;
  });
  const changed = feed.data?.updated_at;
  const entries = useFeed(
    changed === undefined || watch.value === null ? null : `entries of ${id} ${changed}`,
    async (signal) => (await historyOfTask(id, signal)).entries,
    600_000,
  );
  const others = useFeed(feed.data?.reason === 'R_LEASE_BUSY' ? 'sessions' : null, (signal) =>
    ask('session.list', { limit: SHOWN }, signal),
  );
  const key = entries.data?.find(({ type }) => type === 'IntentAccepted')?.idempotency_key;
  return (
    <>
      <p class="crumb">
        <a href={hrefOf('sessions')}>Sessions</a>
      </p>
      <h1>
        <Name text={id} />
      </h1>
      <Shown feed={feed}>
        {(session) => (
          <>
            <p class="line">
              <IntentText session={session} />
              <span class="arrow" aria-hidden="true">
                →
              </span>
              {typeof key === 'string' && (
                <>
                  <span class="soft" title={`Idempotency key ${key}`}>
                    key <span class="name">{key.slice(0, 8)}…</span>
                  </span>
                  <span class="arrow" aria-hidden="true">
                    →
                  </span>
                </>
              )}
              <State of={session.state} />
              <span class="arrow" aria-hidden="true">
                →
              </span>
              {leases.data === null || leases.data.length === 0 ? (
                <span class="soft">no leases</span>
              ) : (
                leases.data.map(({ name }) => <NameLink key={name} view="leases" text={name} />)
              )}
              {session.lease_seq !== undefined && <span class="soft figure">under {session.lease_seq}</span>}
            </p>
            <dl class="card">
              <Field label="State">
                <State of={session.state} />
              </Field>
              <Field label="Asked for">
                <Instant at={session.created_at} />
              </Field>
              <Field label="Changed">
                <Instant at={session.updated_at} />
              </Field>
              {session.slot !== undefined && <Field label="Slot">{session.slot}</Field>}
              {session.reason !== null && (
                <Field label="Why it ended">
                  <Reason session={session} sessions={others.data?.sessions ?? []} />
                </Field>
              )}
              {session.last_heartbeat_at !== undefined && (
                <Field label="Last client heartbeat">
                  <Ago at={session.last_heartbeat_at} />
                </Field>
              )}
              <Field label="Start task">
                <NameLink view="tasks" text={id} />
              </Field>
            </dl>
            <div class="actions">
              {!ENDED.has(session.state) && may('v3:write') && (
                <button type="button" class="danger" onClick={() => stop(session, feed.again)}>
                  Stop…
                </button>
              )}
              <CopyCurl op="session.get" request={{ session_id: id, ended: 'ok' }} />
            </div>
            {entries.data !== null && <RawEntries entries={entries.data} />}
          </>
        )}
      </Shown>
    </>
  );
}

function stop(session: Session, again: () => void): void {
  confirm({
    title: `Stop ${visible(session.session_id)}?`,
    says: (
      <ul>
        <li>
          {session.state === 'NEW'
            ? 'It has not started: it is cancelled at once.'
            : 'The orchestrator ends its pipeline (SIGTERM, then SIGKILL) and releases its leases.'}
        </li>
        <li>The same intent starts a new session afterwards.</li>
      </ul>
    ),
    action: 'Stop the session',
    isDangerous: true,
    run: async () => {
      await ask('session.stop', { session_id: session.session_id });
      again();
    },
  });
}
