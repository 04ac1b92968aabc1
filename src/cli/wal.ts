/** `leasehold wal`: verifies, inspects, prints and restores a log, offline. Only `restore` writes, never to the original. */
import { Command } from 'commander';
import { LOG_FORMAT, LOG_VERSION } from '../core/state.ts';
import { inspectLog, type LogReport, statLog, verifyLog } from '../engines/file/inspect.ts';
import { restoreLog } from '../engines/file/restore.ts';
import { LogDamagedError } from '../engines/log.ts';
import { entryBody } from '../operations/entry-bodies.ts';
import { instant } from '../protocol/instant.ts';
import { nodeFiles } from '../world/node-files.ts';
import { systemClock } from '../world/system-clock.ts';
import { systemIds } from '../world/system-ids.ts';
import { aboveOption, defaulted, directory, wholeNumber } from './arguments.ts';
import { examples } from './connection.ts';
import { size } from './format.ts';
import { print, printTable } from './output.ts';

export function walCommand(): Command {
  const wal = new Command('wal').description(
    'Inspect the log of a data directory, or restore it from a backup.',
  );
  wal
    .command('verify')
    .description('Check every byte that was ever acknowledged: frames, chain and payloads.')
    .argument('<dir>', 'the data directory', directory)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('leasehold wal verify ./leasehold-data'))
    .action(verify);
  wal
    .command('stat')
    .description('Show what is in a log: positions, files, sizes, and the history kept for the time machine.')
    .argument('<dir>', 'the data directory', directory)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('leasehold wal stat ./leasehold-data'))
    .action(stat);
  wal
    .command('cat')
    .description('Print the entries of a log, one JSON object a line.')
    .argument('<dir>', 'the data directory', directory)
    .addOption(defaulted('--from <seq>', 'the first position to print', wholeNumber, 0, 'the first kept'))
    .addOption(
      defaulted(
        '--limit <n>',
        'the maximum number of entries to print',
        wholeNumber,
        Number.POSITIVE_INFINITY,
        'all',
      ),
    )
    .option('--json', 'accepted as everywhere; the output is always JSON')
    .addHelpText('after', examples('leasehold wal cat ./leasehold-data --from 1000 --limit 10'))
    .action(cat);
  wal
    .command('restore')
    .description(
      'Copy a backup into an empty directory and start a new epoch there, above every fencing number ever granted.',
    )
    .argument('<backup>', 'a backup, or a copy of a data directory that no process writes to', directory)
    .argument('<dir>', 'an empty or new directory outside the backup', directory)
    .addOption(aboveOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('leasehold wal restore /backups/monday ./restored'))
    .action(restore);
  return wal;
}

interface Output {
  readonly json?: boolean;
}

async function verify(dir: string, { json }: Output): Promise<void> {
  const report = await verifyLog(nodeFiles, dir);
  const [damaged] = report.damagedOpaques;
  if (json) print(reportBody(report));
  else if (damaged === undefined)
    console.log(`${dir}: ${report.torn === null ? 'whole' : 'no damage found'}. ${summary(report)}`);
  if (damaged !== undefined) {
    const why = `${report.damagedOpaques.length} payload(s) with a wrong checksum, this one first`;
    throw new LogDamagedError(damaged.file, damaged.offset, why);
  }
}

async function stat(dir: string, { json }: Output): Promise<void> {
  const report = await statLog(nodeFiles, dir);
  if (json) {
    print(reportBody(report));
    return;
  }
  console.log(summary(report));
  if (report.history !== null) console.log(historyText(report.history));
  if (report.inUseBy !== null) console.log(ownerText(report.inUseBy, report.isInUse));
  printTable(
    ['file', 'kind', 'used', 'allocated', 'first seq', 'last seq'],
    report.files.map(({ name, kind, bytes, allocatedBytes, firstSeq, lastSeq }) => [
      name,
      kind,
      String(bytes),
      String(allocatedBytes),
      firstSeq === 0 ? '-' : String(firstSeq),
      lastSeq === 0 ? '-' : String(lastSeq),
    ]),
  );
}

function historyText({ firstSeq, firstAtMs, bytes }: NonNullable<LogReport['history']>): string {
  return `History for the time machine: from seq ${firstSeq} at ${instant(firstAtMs)} on, ${size(bytes)} on disk.`;
}

/** The lock file in a copy of a directory names the process of the original, which may be alive but does not use the copy. */
function ownerText(name: string, isInUse: boolean | null): string {
  if (isInUse) return `In use by ${name}.`;
  return isInUse === null
    ? `The lock file names ${name}; it is unknown whether that process still runs.`
    : `The lock file names ${name}, which is no longer running on this directory.`;
}

async function cat(dir: string, { from, limit }: { from: number; limit: number }): Promise<void> {
  const inspection = await inspectLog(nodeFiles, dir, { opaques: false });
  try {
    const first = Math.max(from, inspection.report.firstSeq);
    for await (const logged of inspection.entries(first, limit)) print(await entryBody(inspection, logged));
  } finally {
    await inspection.close();
  }
}

interface RestoreOutput extends Output {
  readonly above?: number;
}

async function restore(backupDir: string, dir: string, { above, json }: RestoreOutput): Promise<void> {
  const { backup, seq, epoch } = await restoreLog({
    files: nodeFiles,
    backupDir,
    dir,
    nowMs: systemClock.wallMs(),
    seed: systemIds.seed(),
    aboveSeq: above,
    format: LOG_FORMAT,
    version: LOG_VERSION,
  });
  const { length: damaged } = backup.damagedOpaques;
  if (damaged > 0) {
    console.error(
      `leasehold: the backup has ${damaged} damaged payload(s); each affects only its own task or object.`,
    );
  }
  if (json) {
    print({ dir, seq, epoch, backup: reportBody(backup) });
    return;
  }
  console.log(`${dir}: restored from ${backupDir}, which ended at seq ${backup.lastSeq}.`);
  console.log(
    `Epoch ${epoch} starts at seq ${seq}. Every lease has ended, and no fencing number is granted again.`,
  );
}

function summary(report: LogReport): string {
  const torn =
    report.torn === null
      ? ''
      : ` ${report.torn.file} looks unfinished at offset ${report.torn.offset}: a write that a crash interrupted, or the file was cut. The next writer cuts it.`;
  if (report.lastSeq === 0) return `The log is empty.${torn}`;
  const checkpoint = report.checkpointSeq === null ? '' : `, checkpoint at seq ${report.checkpointSeq}`;
  const until = instant(report.lastAtMs);
  const range = `seq ${report.firstSeq} to ${report.lastSeq}, epoch ${report.epoch}${checkpoint}`;
  return `${range}, last entry at ${until}.${torn}`;
}

function reportBody(report: LogReport): object {
  return {
    dir: report.dir,
    first_seq: report.firstSeq,
    last_seq: report.lastSeq,
    last_at: report.lastSeq === 0 ? null : instant(report.lastAtMs),
    epoch: report.epoch,
    checkpoint_seq: report.checkpointSeq,
    entries: report.entries,
    history: report.history && {
      first_seq: report.history.firstSeq,
      first_at: instant(report.history.firstAtMs),
      bytes: report.history.bytes,
    },
    in_use_by: report.inUseBy,
    in_use: report.isInUse,
    torn: report.torn,
    damaged_payloads: report.damagedOpaques,
    files: report.files.map(({ name, kind, bytes, allocatedBytes, firstSeq, lastSeq }) => ({
      name,
      kind,
      bytes,
      allocated_bytes: allocatedBytes,
      first_seq: firstSeq,
      last_seq: lastSeq,
    })),
  };
}
