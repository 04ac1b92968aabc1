/**
 * `leasehold object`: fenced objects. Under `leasehold run` a write carries the lease in the environment, so that a
 * program that lost its lease cannot write, in any language.
 */
import { Command } from 'commander';
import type { Requests } from '../operations/table.ts';
import type { Problem } from '../protocol/problem.ts';
import { jsonArgument, wholeNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered, Failure, refused, wrongUsage } from './failure.ts';
import { visible } from './format.ts';
import { sayJson, show } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

export function objectCommand(shell: Shell): Command {
  return new Command('object')
    .description('Read and write fenced objects.')
    .addCommand(getCommand(shell))
    .addCommand(putCommand(shell))
    .addCommand(deleteCommand(shell));
}

function getCommand(shell: Shell): Command {
  return readCommand(shell, 'get')
    .description(
      'Print the value of an object byte for byte, and a line break; with --json the whole record.',
    )
    .argument('<name>', 'the object')
    .addHelpText(
      'after',
      examples('leasehold object get nightly-report', 'leasehold object get nightly-report --json'),
    )
    .action((name: string, options: ReadOptions) =>
      withReads(shell, options, async ({ get }) => {
        const object = await get('object.get', { object_id: name });
        if (options.json) sayJson(shell, object);
        else if (object.value === null) throw new Failure(`The value of ${name} was damaged on the disk.`);
        else shell.out.write(`${object.value.text()}\n`);
      }),
    );
}

interface WriteOptions extends ServerOptions {
  readonly leaseSeq?: number;
  readonly ifVersion?: number;
}

function writeCommand(name: string): Command {
  return serverCommand(name)
    .argument('<name>', 'the object; its lease has the same name')
    .option(
      '--lease-seq <n>',
      'the lease to write under (under `leasehold run`: the one it holds)',
      wholeNumber,
    )
    .option('--if-version <n>', 'only if the object has this version', wholeNumber);
}

function putCommand(shell: Shell): Command {
  return writeCommand('put')
    .description('Write an object under its lease. The value is kept byte for byte.')
    .argument('<json>', 'the value, or - to read it from standard input')
    .addHelpText(
      'after',
      examples(
        `leasehold object put nightly-report '{"rows":12}' --lease-seq 42`,
        `leasehold run nightly-report -- sh -c 'make-report | leasehold object put nightly-report -'`,
      ),
    )
    .action((name: string, word: string, options: WriteOptions) =>
      withServer(shell, options, async (lh) => {
        const value = await jsonArgument(shell, word, 'value');
        const written = fenced(
          name,
          await lh.call('object.write', { object_id: name, value, ...fenceOf(shell, options) }),
        );
        show(shell, options, written, () => [
          `${visible(name)} has version ${written.version}, written under lease_seq ${written.lease_seq}, durable at seq ${written.seq}.`,
        ]);
      }),
    );
}

function deleteCommand(shell: Shell): Command {
  return writeCommand('delete')
    .description('Delete an object under its lease, by the same checks as a write.')
    .addHelpText('after', examples('leasehold object delete nightly-report --lease-seq 42'))
    .action((name: string, options: WriteOptions) =>
      withServer(shell, options, async (lh) => {
        const deleted = fenced(
          name,
          await lh.call('object.delete', { object_id: name, ...fenceOf(shell, options) }),
        );
        show(shell, options, deleted, () => [`${visible(name)} is gone, durable at seq ${deleted.seq}.`]);
      }),
    );
}

/** Returns the body. A write without a lease is sent too, so that the server keeps a receipt of it. */
function fenced<T extends { readonly ok: true }>(name: string, reply: T | Problem): T {
  if (reply.ok || reply.code !== 'WRITE_UNFENCED') return answered(reply);
  throw refused(
    reply.code,
    `${reply.detail} Give its number with --lease-seq, or write under \`leasehold run ${name}\`.`,
  );
}

/** Sends everything known about the lease, so that the server can check all of it. */
function fenceOf(
  { env }: Shell,
  { leaseSeq, ifVersion }: WriteOptions,
): Pick<Requests['object.write'], 'lease' | 'if_version'> {
  const version = ifVersion === undefined ? {} : { if_version: ifVersion };
  if (leaseSeq !== undefined) return { lease: { lease_seq: leaseSeq }, ...version };
  const { LEASEHOLD_LEASE_NAME: name, LEASEHOLD_LEASE_SEQ: seq, LEASEHOLD_HOLDER: holder } = env;
  // LEASEHOLD_LEASE_SEQ may also be the task lease of a worker, which is not a lease of a name.
  if (name === undefined || seq === undefined) return version;
  if (!/^\d+$/.test(seq)) throw wrongUsage('LEASEHOLD_LEASE_SEQ is not a number.');
  const lease = {
    lease_seq: Number(seq),
    object_id: name,
    ...(holder === undefined ? {} : { holder_id: holder }),
  };
  return { lease, ...version };
}
