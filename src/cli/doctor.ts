/**
 * `leasehold doctor`: finds what makes leasehold slow, unsafe or unreachable, and says what to do about it. All
 * checks run, whatever fails. It changes nothing except for a small file that it creates and removes.
 */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { statLog } from '../engines/file/inspect.ts';
import type { Files } from '../seams/files.ts';
import type { DiskProbe, HttpProbe } from '../seams/probes.ts';
import { undiciProbe } from '../world/http-probe.ts';
import { nodeDiskProbe } from '../world/node-disk-probe.ts';
import { nodeFiles } from '../world/node-files.ts';
import { directory } from './arguments.ts';
import { examples, probeCommand, type ServerOptions, serverOf, urlsIn } from './connection.ts';
import { Failure } from './failure.ts';
import { duration, type Paint, size, visible } from './format.ts';
import { paintOf, sayJson, sayLines } from './output.ts';
import type { Server, Shell } from './shell.ts';
import { VERSION } from './version.ts';

/** What the command needs besides a shell; tests bring their own. */
export interface DoctorMeans {
  readonly files: Files;
  readonly disk: DiskProbe;
  readonly http: HttpProbe;
  readonly nodeVersion: string;
}

const REAL: DoctorMeans = {
  files: nodeFiles,
  disk: nodeDiskProbe,
  http: undiciProbe,
  nodeVersion: process.versions.node,
};

type Level = 'ok' | 'note' | 'wrong';

interface Finding {
  readonly check: string;
  readonly level: Level;
  readonly says: string;
  /** What to do about it. */
  readonly advice?: string;
}

const OLDEST_NODE = [20, 19] as const;
const SYNCS = 30;
const SYNC_SLOW_MS = 20;
const SYNC_WRONG_MS = 200;
/** A sync faster than this has not reached a disk. */
const SYNC_UNLIKELY_MS = 0.02;
const FREE_LOW_BYTES = 1024 ** 3;
/** Below this the next segment of the log may find no room. */
const FREE_WRONG_BYTES = 256 * 1024 ** 2;
/** The server's time has a resolution of one second, and the answer takes a while. */
const CLOCK_OFF_MS = 2_000;
/** The server warns from here on as well. */
const TIME_OFF_MS = 60_000;
const DEFAULT_DATA = './leasehold-data';

interface DoctorOptions extends ServerOptions {
  readonly data?: string;
}

export function doctorCommand(shell: Shell, means: DoctorMeans = REAL): Command {
  return probeCommand('doctor')
    .description('Check clock, disk, data directory, versions and the connection to the server.')
    .option(
      '--data <dir>',
      `the data directory to look at (LEASEHOLD_DATA; default ${DEFAULT_DATA} if there is one)`,
      directory,
    )
    .addHelpText(
      'after',
      `${examples('leasehold doctor', 'leasehold doctor --data /var/lib/leasehold --json')}\n\nExits with 1 when something is wrong.`,
    )
    .action(async (options: DoctorOptions) => {
      const server = serverOf(shell, options);
      const findings = [
        ...checkVersions(means),
        ...(await checkServers(shell, means, server)),
        ...(await checkData(shell, means, options)),
      ];
      const wrong = findings.filter(({ level }) => level === 'wrong');
      const paint = paintOf(shell);
      if (options.json) sayJson(shell, { healthy: wrong.length === 0, findings });
      else
        sayLines(
          shell,
          findings.flatMap((finding) => findingLines(finding, paint)),
        );
      if (wrong.length > 0) {
        throw new Failure(`${wrong.map(({ check }) => check).join(', ')}: something is wrong.`);
      }
    });
}

function findingLines({ check, level, says, advice }: Finding, paint: Paint): string[] {
  const mark = level === 'ok' ? paint.green('✓') : level === 'note' ? paint.yellow('!') : paint.red('✗');
  const lines = [`${mark} ${paint.bold(check)}: ${visible(says)}`];
  return advice === undefined ? lines : [...lines, `    ${visible(advice)}`];
}

function checkVersions({ nodeVersion }: DoctorMeans): Finding[] {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const isNew = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  const says = `leasehold ${VERSION} on Node ${nodeVersion}`;
  if (isNew) return [{ check: 'versions', level: 'ok', says }];
  const advice = `Install Node ${OLDEST_NODE.join('.')} or newer.`;
  return [{ check: 'versions', level: 'wrong', says, advice }];
}

/** Several servers are checked one by one. */
async function checkServers(shell: Shell, means: DoctorMeans, { url, token }: Server): Promise<Finding[]> {
  const seen: Seen[] = [];
  for (const each of urlsIn(url)) seen.push(await checkServer(shell, means, { url: each, token }));
  return [...seen.flatMap(({ findings }) => findings), ...leaders(seen)];
}

/** What is known of one server. */
interface Seen {
  readonly findings: readonly Finding[];
  /** `ready`: it leads. `follows`: it stands by, and a server leads. `waits`: it stands by for none. */
  readonly is: 'ready' | 'follows' | 'waits' | 'unknown';
}

/** A standby alone is well when it names the leader, which may be a server that was not named here. */
function leaders(seen: readonly Seen[]): Finding[] {
  const has = (state: Seen['is']): boolean => seen.some(({ is }) => is === state);
  if (has('ready') || has('follows') || !has('waits')) return [];
  const says = seen.length === 1 ? 'the server is a standby, and no server leads' : 'no server leads';
  const advice =
    'After a crash a standby leads within 17 s. If it stays like this, look at the database and at the logs of the servers.';
  return [{ check: 'leader', level: 'wrong', says, advice }];
}

async function checkServer(shell: Shell, { http }: DoctorMeans, server: Server): Promise<Seen> {
  const { url, token } = server;
  const at = (path: string): string => url.replace(/\/+$/, '') + path;
  try {
    const ready = await http(at('/readyz'), token);
    const status = await http(at('/v1/status'), token);
    const described = await http(at('/openapi.json'), token);
    const known = objectIn(status.text) as Known;
    const findings = [
      readiness(url, ready, known),
      access(status),
      serverVersion(described.text),
      clockDifference(shell.clock.wallMs(), ready),
      ...serverTime(known),
      ...serverDisk(known),
    ];
    return { findings, is: stateOf(ready, known) };
  } catch (fault) {
    if (!(fault instanceof Error)) throw fault;
    const says = `no server answers at ${url} (${reasonIn(fault)})`;
    const advice = 'Start a server with `leasehold up`, or give its URL with --server or LEASEHOLD_URL.';
    return { findings: [{ check: 'server', level: 'wrong', says, advice }], is: 'unknown' };
  }
}

type Answer = Awaited<ReturnType<HttpProbe>>;

/** What the doctor uses of `/v1/status`; without access, or from an older server, there is less. */
interface Known {
  readonly leader_url?: string | null;
  readonly log_trouble?: string | null;
  readonly disk_full?: unknown;
  readonly clock_off_ms?: unknown;
}

const isStandby = ({ status, text }: Answer): boolean => status === 503 && text.includes('"NOT_LEADER"');

function stateOf(ready: Answer, { leader_url: leader, log_trouble: trouble }: Known): Seen['is'] {
  if (ready.status === 200) return 'ready';
  if (!isStandby(ready) || leader === undefined) return 'unknown';
  return leader === null || trouble ? 'waits' : 'follows';
}

function readiness(url: string, ready: Answer, known: Known): Finding {
  const { status, text, tookMs } = ready;
  if (status === 200) {
    return { check: 'server', level: 'ok', says: `${url} is ready, and answers in ${duration(tookMs)}` };
  }
  if (isStandby(ready)) {
    const { leader_url: leader, log_trouble: trouble } = known;
    if (trouble) {
      const says = `${url} is a standby, and cannot read the log: ${trouble}`;
      const advice = 'Look at the database, and at the network between it and the server.';
      return { check: 'server', level: 'wrong', says, advice };
    }
    const of = leader ? ` of ${leader}` : '';
    return {
      check: 'server',
      level: 'ok',
      says: `${url} is a standby${of}, and answers in ${duration(tookMs)}`,
    };
  }
  const advice =
    status === 503
      ? 'It runs, but may not write: it is starting or stopping, or its log cannot be written. Look at its own log.'
      : 'What answers there may not be a leasehold server; check the URL.';
  return { check: 'server', level: 'wrong', says: `${url} answers ${status}: ${firstLine(text)}`, advice };
}

const ACCESS_ADVICE: Readonly<Record<number, string>> = {
  401: 'Give a token that the server knows with --token or LEASEHOLD_TOKEN.',
  403: 'Give a token with the scope v1:read, or connect from a network that the server allows.',
};

function access({ status }: Answer): Finding {
  if (status === 200) return { check: 'access', level: 'ok', says: 'the server grants read access' };
  const advice = ACCESS_ADVICE[status] ?? 'Look at the log of the server.';
  return { check: 'access', level: 'wrong', says: `/v1/status answers ${status}`, advice };
}

function serverVersion(text: string): Finding {
  const version = versionIn(text);
  if (version === VERSION) return { check: 'server version', level: 'ok', says: version };
  const says =
    version === null ? 'the server does not say' : `the server is ${version}, this command line ${VERSION}`;
  return { check: 'server version', level: 'note', says, advice: 'Use the same version on both sides.' };
}

function versionIn(text: string): string | null {
  const { info } = objectIn(text) as { info?: { version?: unknown } };
  return typeof info?.version === 'string' ? info.version : null;
}

function objectIn(text: string): object {
  try {
    return Object(JSON.parse(text)) as object;
  } catch (fault) {
    if (fault instanceof SyntaxError) return {};
    throw fault;
  }
}

/** A standby reports no time of its own. */
function serverTime({ clock_off_ms: offMs }: Known): Finding[] {
  if (typeof offMs !== 'number') return [];
  const check = 'server time';
  if (Math.abs(offMs) <= TIME_OFF_MS) return [{ check, level: 'ok', says: 'follows its wall clock' }];
  const says = `${duration(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the wall clock of its machine`;
  const advice =
    'Schedules fire by that time. It corrects itself by at most 1 %; docs/operating.md, "Time", says what a restart does.';
  return [{ check, level: 'note', says, advice }];
}

function serverDisk({ disk_full: isFull }: Known): Finding[] {
  if (isFull !== true) return [];
  const says = 'full: the server takes renewals, completions and releases, and nothing new';
  const advice =
    'Make room; the line `the disk is full` in its log says how much. docs/operating.md, "A full disk", says how.';
  return [{ check: 'server disk', level: 'wrong', says, advice }];
}

function clockDifference(nowMs: number, { dateMs, tookMs }: Answer): Finding {
  if (Number.isNaN(dateMs))
    return { check: 'clock', level: 'note', says: 'the server does not tell its time' };
  const offMs = nowMs - dateMs;
  if (Math.abs(offMs) <= CLOCK_OFF_MS + tookMs) {
    return {
      check: 'clock',
      level: 'ok',
      says: 'ours and the server’s agree within one or two seconds',
    };
  }
  const says = `ours is ${duration(Math.abs(offMs))} ${offMs > 0 ? 'ahead of' : 'behind'} the server’s`;
  const advice =
    'Leases do not depend on it, because only remaining time is compared; but instants will read oddly. Run NTP on both machines.';
  return { check: 'clock', level: 'note', says, advice };
}

async function checkData(shell: Shell, means: DoctorMeans, options: DoctorOptions): Promise<Finding[]> {
  const named = options.data ?? (shell.env.LEASEHOLD_DATA || null);
  const dir = resolve(named ?? DEFAULT_DATA);
  let names: readonly string[] | null;
  try {
    names = await means.files.list(dir);
  } catch (fault) {
    if (!(fault instanceof Error)) throw fault;
    const advice = 'It must be a directory, and readable for the user that runs this command.';
    return [{ check: 'data directory', level: 'wrong', says: reasonIn(fault), advice }];
  }
  if (names === null && named === null) {
    const says = `there is none at ${dir}, so the disk was not checked`;
    return [
      { check: 'data directory', level: 'note', says, advice: 'Name one with --data where the server runs.' },
    ];
  }
  if (names === null) {
    const advice = '`leasehold serve --data` makes it; check the path.';
    return [{ check: 'data directory', level: 'wrong', says: `there is no ${dir}`, advice }];
  }
  return [
    await attempt('data directory', 'It must be readable for the user that runs this command.', () =>
      checkLog(means, dir),
    ),
    await attempt('file system', 'Check the disk.', () => checkFileSystem(means, dir)),
    await attempt('free space', 'Check the disk.', () => checkSpace(means, dir)),
    await attempt(
      'disk sync',
      'It must be writable for the user that runs this command, and have free space.',
      () => checkSync(means, dir),
    ),
  ];
}

/** A check that cannot run is a finding too. */
async function attempt(check: string, advice: string, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (fault) {
    if (!(fault instanceof Error)) throw fault;
    return { check, level: 'wrong', says: reasonIn(fault), advice };
  }
}

async function checkLog({ files }: DoctorMeans, dir: string): Promise<Finding> {
  const check = 'data directory';
  try {
    const { firstSeq, lastSeq, epoch, inUseBy, isInUse, torn } = await statLog(files, dir);
    const owner = inUseBy === null ? 'not in use' : ownerText(inUseBy, isInUse);
    const content = lastSeq === 0 ? 'an empty log' : `seq ${firstSeq} to ${lastSeq}, epoch ${epoch}`;
    const says = `${dir} holds ${content}, ${owner}`;
    if (torn === null) return { check, level: 'ok', says };
    const unfinished = { check, says: `${says}, with an unfinished write at its end` };
    // While the log is in use it is most likely the batch that is being written.
    if (isInUse) return { ...unfinished, level: 'ok' };
    const advice =
      'A crash leaves that, and the next start cuts it. After a clean stop it is damage: restore a backup.';
    return { ...unfinished, level: 'note', advice };
  } catch (fault) {
    if (!(fault instanceof Error)) throw fault;
    const advice =
      fault.name === 'LogDamagedError'
        ? 'Keep a copy, run `leasehold wal verify` on it, and restore the newest backup that verifies.'
        : 'Check the path.';
    return { check, level: 'wrong', says: fault.message, advice };
  }
}

function ownerText(name: string, isInUse: boolean | null): string {
  if (isInUse) return `in use by ${name}`;
  return `last opened by ${name}${isInUse === null ? '' : ', which is no longer running on it'}`;
}

async function checkFileSystem({ files }: DoctorMeans, dir: string): Promise<Finding> {
  const kind = await files.networkKind(dir);
  if (kind === null) return { check: 'file system', level: 'ok', says: 'local' };
  const advice = 'Two machines may both believe that they hold the lock there. Use a local disk.';
  return {
    check: 'file system',
    level: 'wrong',
    says: `${dir} is on a network file system (${kind})`,
    advice,
  };
}

async function checkSpace({ disk }: DoctorMeans, dir: string): Promise<Finding> {
  const free = await disk.freeBytes(dir);
  const says = `${size(free)} free`;
  const advice =
    'Make room: the log needs up to 64 MiB at a time, and a compaction more. Without it the server takes only renewals, completions and releases.';
  if (free < FREE_WRONG_BYTES) return { check: 'free space', level: 'wrong', says, advice };
  if (free < FREE_LOW_BYTES) return { check: 'free space', level: 'note', says, advice };
  return { check: 'free space', level: 'ok', says };
}

async function checkSync({ disk }: DoctorMeans, dir: string): Promise<Finding> {
  const check = 'disk sync';
  const took = (await disk.syncMs(dir, SYNCS)).toSorted((a, b) => a - b);
  const median = took[Math.floor(took.length / 2)] ?? 0;
  const worst = took.at(-1) ?? 0;
  const says = `a durable write takes ${median.toFixed(2)} ms in the median, ${worst.toFixed(2)} ms at worst`;
  if (median < SYNC_UNLIKELY_MS) {
    const advice =
      'No disk is that fast: it is memory, or a disk that reports a sync it has not done. A power cut would lose data.';
    return { check, level: 'note', says, advice };
  }
  const advice = 'Every change waits for one such write. Use a local SSD that nothing else keeps busy.';
  if (median > SYNC_WRONG_MS) return { check, level: 'wrong', says, advice };
  return median > SYNC_SLOW_MS ? { check, level: 'note', says, advice } : { check, level: 'ok', says };
}

function reasonIn(fault: Error): string {
  const { cause } = fault;
  // An AggregateError of several addresses has no message of its own, and OpenSSL messages have line breaks.
  return (
    (fault as { reason?: string }).reason ||
    fault.message ||
    (cause instanceof Error ? cause.message : '') ||
    String((fault as { code?: unknown }).code)
  );
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.slice(0, 200);
}
