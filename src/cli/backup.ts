/**
 * `leasehold backup`: copies the log of a running server, and verifies the copy before it reports success.
 * It leaves a complete backup behind or nothing.
 */
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { sleep } from '../client/sleep.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { isDiskFull } from '../engines/file/write-fully.ts';
import { PAGES } from '../operations/pages.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Files } from '../seams/files.ts';
import { exitCodeOf } from '../seams/processes.ts';
import { type Download, type Downloaded, undiciDownload } from '../world/download.ts';
import { nodeFiles } from '../world/node-files.ts';
import { directory } from './arguments.ts';
import {
  connectionFailure,
  examples,
  patientProbe,
  retryingOf,
  type ServerOptions,
  serverOf,
  urlsIn,
} from './connection.ts';
import { onEndingSignals } from './ending-signals.ts';
import { Failure, refused } from './failure.ts';
import { size } from './format.ts';
import { show } from './output.ts';
import { type Received, receiveBackup } from './receive-backup.ts';
import type { Screen, Server, Shell } from './shell.ts';

const PROBLEM_BYTES_MAX = 64 * 1024;
/** How often the progress on the terminal is updated. */
const PROGRESS_BYTES = 1024 * 1024;
/** The longest pause between two tries, so that a restarted server is found soon. */
const RETRY_EVERY_MS = 400;
const CLEAR_LINE = '\r\u001b[K';

/** What the command needs besides a shell; tests bring their own. */
export interface BackupMeans {
  readonly files: Files;
  readonly download: Download;
}

export function backupCommand(
  shell: Shell,
  means: BackupMeans = { files: nodeFiles, download: undiciDownload },
): Command {
  return patientProbe('backup')
    .description('Copy the log of a running server into a new directory, and verify the copy.')
    .argument('<dir>', 'an empty or new directory', directory)
    .addHelpText(
      'after',
      examples(
        'leasehold backup /backups/monday',
        'leasehold wal restore /backups/monday /var/lib/leasehold   # into a new data directory',
      ),
    )
    .action(async (dir: string, options: ServerOptions) => {
      report(shell, options, dir, await receive(shell, means, dir, options));
    });
}

async function receive(
  shell: Shell,
  means: BackupMeans,
  dir: string,
  options: ServerOptions,
): Promise<Received> {
  const server = serverOf(shell, options);
  const interruption = new AbortController();
  onEndingSignals(shell, options, {
    asked(signal) {
      const exitCode = exitCodeOf({ code: null, signal }, constants.signals);
      interruption.abort(new Failure('The backup was interrupted; nothing is left of it.', exitCode));
    },
  });
  try {
    const { signal } = interruption;
    const download = async (): Promise<AsyncIterable<Uint8Array>> =>
      watched(
        await retried(shell, options, server, signal, () => archiveFrom(means.download, server, signal)),
        shell.err,
      );
    return await receiveBackup(means.files, resolve(dir), download);
  } catch (fault) {
    if (isDiskFull(fault)) {
      const { code } = fault as NodeJS.ErrnoException;
      throw new Failure(
        `The disk is full: the backup does not fit into ${dir} (${code}). Nothing is left of it; make room, or choose another disk.`,
      );
    }
    throw connectionFailure(fault, server, options.retryFor);
  } finally {
    // The rest of the body is not read, and must not keep the process alive.
    interruption.abort();
    if (shell.err.isTerminal) shell.err.write(CLEAR_LINE);
  }
}

/** Retries for `--retry-for` while no server answers. Once the archive has begun it is not retried. */
async function retried<T>(
  shell: Shell,
  options: ServerOptions,
  server: Server,
  signal: AbortSignal,
  ask: () => Promise<T>,
): Promise<T> {
  const retrying = retryingOf(shell, options, server);
  const untilMs = shell.clock.monotonicMs() + (retrying?.forMs ?? 0);
  for (;;) {
    try {
      return await ask();
    } catch (fault) {
      const isAway = fault instanceof LeaseholdError && fault.code === 'UNREACHABLE';
      if (!isAway || shell.clock.monotonicMs() >= untilMs) throw fault;
      retrying?.onRetry?.(fault);
      await sleep(shell.timers, RETRY_EVERY_MS, signal);
      signal.throwIfAborted();
    }
  }
}

/** The archive of the leader, where several servers are named. */
async function archiveFrom(
  download: Download,
  { url, token }: Server,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  let away: unknown = null;
  let standby: unknown = null;
  for (const each of urlsIn(url)) {
    try {
      return await archiveOf(download, each, token, signal);
    } catch (fault) {
      const { code } = Object(fault) as { readonly code?: unknown };
      if (code === 'NOT_LEADER') standby ??= fault;
      else if (code === 'UNREACHABLE') away ??= fault;
      else throw fault;
    }
  }
  throw standby ?? away;
}

/** The bytes of the archive. Faults of the connection become sentences, before the first byte and after it. */
async function archiveOf(
  download: Download,
  url: string,
  token: string | null,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { path, type } = PAGES.backup;
  const headers = { accept: type, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
  const answer = await download(url.replace(/\/+$/, '') + path, headers, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new LeaseholdError('UNREACHABLE', `No server answers at ${url}.`, { retryable: true, cause });
  });
  if (answer.status !== 200 || answer.type !== type) throw await refusalIn(answer, url);
  return whole(answer.body, signal);
}

async function* whole(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await pieces.next().catch((cause: unknown) => {
        signal.throwIfAborted();
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`The connection was lost before the backup was complete (${why}).`, { cause });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

/** The refusal of the server, when the answer is a problem document. */
async function refusalIn({ status, type, body }: Downloaded, url: string): Promise<Failure> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > PROBLEM_BYTES_MAX) break;
    pieces.push(piece);
  }
  const told = type === 'application/problem+json' ? problemIn(Buffer.concat(pieces).toString('utf8')) : null;
  return told ?? new Failure(`${url} answered ${status} and is not a leasehold server that makes backups.`);
}

function problemIn(text: string): Failure | null {
  let problem: unknown;
  try {
    problem = JSON.parse(text);
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
  const { code, detail } = Object(problem) as { code?: unknown; detail?: unknown };
  return typeof code === 'string' && typeof detail === 'string' ? refused(code as RefusalCode, detail) : null;
}

/** Shows on a terminal how much has arrived. */
async function* watched(archive: AsyncIterable<Uint8Array>, err: Screen): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let shown = 0;
  for await (const piece of archive) {
    bytes += piece.length;
    if (err.isTerminal && bytes - shown >= PROGRESS_BYTES) {
      shown = bytes;
      err.write(`${CLEAR_LINE}${size(bytes)} received`);
    }
    yield piece;
  }
  if (err.isTerminal) err.write(`${CLEAR_LINE}${size(bytes)} received; verifying`);
}

function report(shell: Shell, options: ServerOptions, dir: string, { manifest, report }: Received): void {
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
  const { seq, epoch, at, files } = manifest;
  const { length: damaged } = report.damagedOpaques;
  if (damaged > 0) {
    shell.err.write(
      `leasehold: the server's log has ${damaged} damaged payload(s), and so has the backup; each affects only its own task or object.\n`,
    );
  }
  const body = {
    dir,
    seq,
    epoch,
    at,
    entries: report.entries,
    checkpoint_seq: report.checkpointSeq,
    bytes,
    files: files.length,
    damaged_payloads: damaged,
  };
  show(shell, options, body, () => [
    `${dir}: backed up to seq ${seq}, epoch ${epoch}, and verified: ${entriesIn(report)}, ${size(bytes)} in ${count(files.length, 'file')}.`,
    `Restore it with: leasehold wal restore ${dir} NEW-DIR`,
  ]);
}

function entriesIn({ entries, checkpointSeq }: Received['report']): string {
  const counted = count(entries, 'entry', 'entries');
  return checkpointSeq === null ? counted : `a checkpoint at seq ${checkpointSeq} and ${counted}`;
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number} ${number === 1 ? one : many}`;
