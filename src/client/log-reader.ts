/**
 * Reads the log over HTTP: one page, or entries as they become durable. When the connection breaks, or is silent for so
 * long that it may be dead, a follower reconnects and continues after the last entry it delivered.
 */

import type { LogRequest } from '../operations/pages.ts';
import type { EntryRecord } from '../operations/records.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import { JsonError, readJson } from '../protocol/read-json.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import { type HttpReply, type HttpStream, httpFault, isHttpFault } from '../seams/http.ts';
import { handleClosed } from './closed.ts';
import { LOG_PATH } from './operation-table.ts';
import { asProblem, notOurs, readReply, retryAfterMs, transientEffect, type WireBody } from './reply-text.ts';
import { queryText } from './request-text.ts';
import type { RetrySchedule, Tries } from './retry-schedule.ts';
import { sleep } from './sleep.ts';
import type { EntryListing, FollowOnly } from './transport.ts';
import { link, type Wire } from './wire.ts';
import type { ClientWorld } from './world.ts';

const READ_TIMEOUT_MS = 30_000;
/** A follower that receives nothing for this long reconnects, which is cheap and detects dead connections. */
const SILENCE_MS = 60_000;
/** A stream open for this long worked, so its end starts a new series of failures. */
const GOOD_MS = 1_000;

/** The server-sent-events framing around an entry, used when following sessions. */
const NO_ENTRY = /^(data: |\w*:.*)/;

/** Why an attempt failed; thrown after the last one. */
interface Setback {
  readonly fault: LeaseholdError;
  readonly retryAfterMs: number;
}

export class LogReader {
  readonly #wire: Wire;
  readonly #schedule: RetrySchedule;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #retrying: ClientWorld['onRetry'];
  readonly #stopping = new AbortController();

  constructor(wire: Wire, schedule: RetrySchedule, { clock, timers, onRetry }: ClientWorld) {
    this.#wire = wire;
    this.#schedule = schedule;
    this.#clock = clock;
    this.#timers = timers;
    this.#retrying = onRetry;
  }

  /** Stops retrying and rejects the callers that wait for a retry. */
  stop(): void {
    this.#stopping.abort();
  }

  async read(request: Omit<LogRequest, 'follow'>): Promise<Reply<EntryListing>> {
    const path = LOG_PATH + queryText({ ...request, limit: request.limit ?? 100 });
    const ask = { lane: 'calls', method: 'GET', path, body: null } as const;
    const tries: Tries = { failures: 0, sinceMs: 0 };
    for (;;) {
      let setback: Setback;
      try {
        const reply = await this.#wire.send(ask, READ_TIMEOUT_MS);
        if (reply.status < 400) {
          const lines = new TextDecoder().decode(reply.body).split('\n').filter(Boolean);
          return { ok: true, entries: lines.map((line) => this.#entry(line, reply)) };
        }
        const body = readReply(reply, this.#wire.server, 'none');
        if (transientEffect(body) === null) return asProblem(body);
        setback = transientFault(body, reply);
      } catch (fault) {
        setback = unreachable(fault);
      }
      await this.#pause(tries, setback);
    }
  }

  #entry(line: string, reply: Pick<HttpReply, 'status' | 'header'>): EntryRecord {
    try {
      return readJson(line) as EntryRecord;
    } catch (fault) {
      if (fault instanceof JsonError) throw notOurs(reply, this.#wire.server, 'none', fault);
      throw fault;
    }
  }

  /**
   * Ends when the signal aborts. Throws when the entries were compacted away, or when retries are used up; with
   * `isPatient` retries are limited only until the first answer.
   */
  async *follow(
    from: Promise<number>,
    signal: AbortSignal,
    { types, session, isPatient = false }: FollowOnly,
  ): AsyncGenerator<EntryRecord, void, undefined> {
    let nextSeq: number;
    try {
      nextSeq = await from;
    } catch (fault) {
      if (signal.aborted) return;
      throw fault;
    }
    const tries: Tries = { failures: 0, sinceMs: 0 };
    let hasBegun = false;
    while (!signal.aborted) {
      const openedMs = this.#clock.monotonicMs();
      const server = this.#wire.current;
      const connection = new Connection(signal, this.#timers, this.#wire.server);
      let setback: Setback;
      try {
        const path = (session?.path ?? LOG_PATH) + queryText({ from: nextSeq, follow: 1, types });
        const ask = { lane: 'waits', method: 'GET', path, body: null, signal: connection.signal } as const;
        const stream = await this.#wire.stream(ask);
        if (stream.status >= 400) setback = await this.#refused(stream, server);
        else {
          hasBegun = true;
          for await (const line of connection.lines(stream)) {
            const text = line.replace(NO_ENTRY, '');
            if (!text) continue;
            const entry = this.#entry(text, stream);
            nextSeq = entry.seq + 1;
            tries.failures = 0;
            yield entry;
            if (signal.aborted) return;
          }
          setback = unreachable(httpFault(`${this.#wire.server} ended the stream.`, 'none'));
        }
      } catch (fault) {
        if (signal.aborted) return;
        setback = unreachable(fault);
      } finally {
        connection.end();
      }
      if (this.#clock.monotonicMs() - openedMs >= GOOD_MS) tries.failures = 0;
      await this.#pause(tries, setback, signal, isPatient && hasBegun);
    }
  }

  /** Why no stream was opened; thrown if that will not change. */
  async #refused(stream: HttpStream, server: number): Promise<Setback> {
    let text = '';
    for await (const chunk of stream.chunks) text += chunk;
    const reply: HttpReply = {
      status: stream.status,
      header: (name) => stream.header(name),
      body: new TextEncoder().encode(text),
    };
    this.#wire.judge(reply, server);
    const body = readReply(reply, this.#wire.server, 'none');
    if (transientEffect(body) === null) throw LeaseholdError.of(asProblem(body));
    return transientFault(body, reply);
  }

  /** Waits until the next attempt; throws when there is none. */
  async #pause(
    tries: Tries,
    { fault, retryAfterMs }: Setback,
    signal?: AbortSignal,
    isEndless = false,
  ): Promise<void> {
    this.#assertOpen(signal);
    const pauseMs = this.#schedule.pauseOf(fault.code, retryAfterMs);
    const lastMs = isEndless ? Math.max(pauseMs, this.#schedule.delayMaxMs) : null;
    const delayMs = this.#schedule.delayAfter(tries, pauseMs) ?? lastMs;
    if (delayMs === null) throw fault;
    if (delayMs === 0) return;
    this.#retrying?.(fault);
    await sleep(this.#timers, delayMs, this.#stopping.signal, signal);
    this.#assertOpen(signal);
  }

  /** Throws when the handle is closed, unless the follower's own signal aborted too. */
  #assertOpen(signal: AbortSignal | undefined): void {
    if (this.#stopping.signal.aborted && !signal?.aborted) throw handleClosed();
  }
}

/** One connection of a follower. It ends with the follower's signal, or when nothing is received for too long. */
class Connection {
  readonly #ending = new AbortController();
  readonly #unlink: () => void;
  readonly #timers: Timers;
  readonly #server: string;
  #silence: { cancel(): void };

  constructor(follower: AbortSignal, timers: Timers, server: string) {
    this.#unlink = link(follower, this.#ending);
    this.#timers = timers;
    this.#server = server;
    this.#silence = this.#listen();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  #listen(): { cancel(): void } {
    const isSilent = (): void => {
      this.#ending.abort(httpFault(`${this.#server} said nothing for ${SILENCE_MS} ms.`, 'none'));
    };
    return this.#timers.after(SILENCE_MS, isSilent);
  }

  async *lines({ chunks }: HttpStream): AsyncGenerator<string, void, undefined> {
    let rest = '';
    for await (const chunk of chunks) {
      this.#silence.cancel();
      this.#silence = this.#listen();
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      // An empty line is a keep-alive. The text after the last line break is incomplete.
      for (const line of lines) if (line) yield line;
    }
  }

  end(): void {
    this.#silence.cancel();
    this.#unlink();
  }
}

function transientFault(body: WireBody, reply: HttpReply): Setback {
  const refusal = asProblem(body);
  const fault = new LeaseholdError(refusal.code, refusal.detail, { retryable: true, problem: refusal });
  return { fault, retryAfterMs: retryAfterMs(reply) };
}

function unreachable(fault: unknown): Setback {
  if (!isHttpFault(fault)) throw fault;
  return {
    fault: new LeaseholdError('UNREACHABLE', fault.message, { retryable: true, cause: fault }),
    retryAfterMs: 0,
  };
}
