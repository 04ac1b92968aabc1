/**
 * `leasehold lease`: named leases by hand. A grant has a token, its secret; with `--token-file` it is written to a
 * file that only the user can read, so that it need not appear in the shell history.
 */
import { Command } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { LeaseRecord } from '../operations/records.ts';
import type { Body } from '../operations/table.ts';
import { defaulted, durationMs, fileArgument, limitOption, wholeNumber } from './arguments.ts';
import { examples, type ServerOptions, serverCommand, withServer } from './connection.ts';
import { ENTRY_COLUMNS } from './entries.ts';
import { answered, EXIT, Failure, refused } from './failure.ts';
import { ago, duration, fieldLines, heldText, shortened, visible } from './format.ts';
import { type Columns, pagesOf, show, showList } from './output.ts';
import { type ReadOptions, readCommand, withReads } from './reads.ts';
import type { Shell } from './shell.ts';

export function leaseCommand(shell: Shell): Command {
  return new Command('lease')
    .description('Acquire, show, renew, release, ask for and break named leases.')
    .addCommand(listCommand(shell))
    .addCommand(showCommand(shell))
    .addCommand(acquireCommand(shell))
    .addCommand(renewCommand(shell))
    .addCommand(releaseCommand(shell))
    .addCommand(askCommand(shell))
    .addCommand(breakCommand(shell))
    .addCommand(historyCommand(shell));
}

interface ListOptions extends ReadOptions {
  readonly prefix?: string;
  readonly limit: number;
}

function listCommand(shell: Shell): Command {
  return readCommand(shell, 'ls')
    .description('List the leases that are held now.')
    .option('--prefix <prefix>', 'only names that begin with it')
    .addOption(limitOption())
    .addHelpText(
      'after',
      examples(
        'leasehold lease ls',
        'leasehold lease ls --prefix deploy: --json',
        'leasehold lease ls --at 2h',
      ),
    )
    .action((options: ListOptions) =>
      withReads(shell, options, async ({ get }) => {
        const { prefix } = options;
        const pages = pagesOf(options.limit, async (page) => {
          const filter = prefix === undefined ? {} : { prefix };
          const { leases, next_cursor } = await get('lease.list', { ...filter, ...page });
          return { items: leases, next: next_cursor };
        });
        const none =
          prefix === undefined
            ? LEASE_COLUMNS.none
            : `No leases with the prefix ${visible(prefix)} are held.`;
        await showList(shell, options, pages, { ...LEASE_COLUMNS, none });
      }),
    );
}

export const LEASE_COLUMNS: Columns<LeaseRecord> = {
  head: ['NAME', 'HOLDER', 'LEASE SEQ', 'REMAINING', 'METADATA'],
  cells: (lease) => [
    visible(lease.name),
    visible(lease.holder),
    String(lease.lease_seq),
    duration(lease.remaining_ms),
    shortened(visible(lease.metadata?.text() ?? ''), 40),
  ],
  none: 'No leases are held.',
};

function showCommand(shell: Shell): Command {
  return readCommand(shell, 'show')
    .description('Show who holds a lease, for how long, and who waits for it. The token is never shown.')
    .argument('<name>', 'the lease')
    .addHelpText(
      'after',
      examples('leasehold lease show nightly-report', 'leasehold lease show nightly-report --at-seq 843'),
    )
    .action((name: string, options: ReadOptions) =>
      withReads(shell, options, async ({ ask, lh, isPast, nowMs }) => {
        const reply = await ask('lease.get', { name });
        if (!reply.ok && reply.code === 'LEASE_NOT_FOUND') {
          const next = `\`leasehold lease history ${visible(name)}\` shows who held it.`;
          throw refused(reply.code, `${reply.detail} ${next}`);
        }
        const lease = answered(reply);
        // Only the text has the waiters: the JSON is the reply as it travels.
        const waiters = isPast || options.json ? [] : await waitersOf(lh, name);
        show(shell, options, lease, (paint) =>
          fieldLines(
            [
              ['lease', paint.bold(visible(lease.name))],
              ['holder', visible(lease.holder)],
              ['lease_seq', String(lease.lease_seq)],
              ['remaining', duration(lease.remaining_ms)],
              ['acquired', `${lease.acquired_at} (${ago(lease.acquired_at, nowMs)})`],
              ['expires', lease.expires_at],
              ...(lease.metadata ? [['metadata', visible(lease.metadata.text())] as const] : []),
              ...waiterFields(waiters, name, nowMs),
            ],
            paint,
          ),
        );
      }),
    );
}

type Waiter = Body<'lease.waiters'>['waiters'][number];

/** How many waiters are shown; the others are counted. */
const WAITERS_SHOWN = 10;

async function waitersOf(lh: Leasehold, name: string): Promise<Waiter[]> {
  const waiters: Waiter[] = [];
  const pages = pagesOf(Number.POSITIVE_INFINITY, async (page) => {
    const reply = await lh.call('lease.waiters', { name, ...page });
    // A server of 0.1 does not list them.
    if (!reply.ok && reply.code === 'ROUTE_NOT_FOUND') return { items: [], next: undefined };
    const line = answered(reply);
    return { items: line.waiters, next: line.next_cursor };
  });
  for await (const page of pages) waiters.push(...page);
  return waiters;
}

/** In the order in which they are served, with the other names that each of them waits for. */
function waiterFields(waiters: readonly Waiter[], name: string, nowMs: number): [string, string][] {
  const lines = waiters.slice(0, WAITERS_SHOWN).map(({ holder, names, waiting_since, remaining_ms }) => {
    const others = names.filter((each) => each !== name).map(visible);
    const together = others.length === 0 ? '' : `, together with ${others.join(', ')}`;
    return `${visible(holder)}, joined ${ago(waiting_since, nowMs)}, waits another ${duration(remaining_ms)}${together}`;
  });
  const more = waiters.length - lines.length;
  if (more > 0) lines.push(`and ${more} more`);
  return lines.map((line, index) => [index === 0 ? 'waiting' : '', line]);
}

interface AcquireOptions extends ServerOptions {
  readonly holder: string;
  readonly ttl: number;
  readonly wait: number;
  readonly tokenFile?: string;
}

function acquireCommand(shell: Shell): Command {
  return serverCommand('acquire')
    .description(
      'Acquire a lease and exit; it is not renewed. To hold one while a program runs, use `leasehold run`.',
    )
    .argument('<name>', 'the lease')
    .requiredOption('--holder <holder>', 'the holder of the lease')
    .requiredOption('--ttl <duration>', 'how long it lasts, for example 15s', durationMs)
    .addOption(defaulted('--wait <duration>', 'how long to wait in line', durationMs, 0, 'not at all'))
    .option('--token-file <file>', 'write the token there, readable for you only, instead of printing it')
    .addHelpText(
      'after',
      `${examples(
        'leasehold lease acquire nightly-report --holder host-1 --ttl 10m --token-file ./token',
        'leasehold lease release nightly-report --holder host-1 --token-file ./token',
      )}\n\nExits with 73 when another holder has it.`,
    )
    .action((name: string, options: AcquireOptions) =>
      withServer(shell, options, async (lh) => {
        const { holder, ttl, wait, tokenFile } = options;
        const reply = await lh.call('lease.acquire', {
          name,
          holder,
          token: shell.newToken(),
          ttl_ms: ttl,
          wait_ms: wait,
        });
        if (!reply.ok && reply.code === 'LEASE_HELD') {
          const wayOut = wait === 0 ? ' --wait 1m waits in line for it.' : '';
          const held = heldText(name, reply.holder!, reply.remaining_ms);
          throw refused('LEASE_HELD', `${held}${wayOut}`, EXIT.notAcquired);
        }
        const grant = answered(reply);
        if (tokenFile !== undefined) await keepToken(shell, lh, grant, tokenFile);
        const { token: secret, ...open } = grant;
        show(shell, options, tokenFile === undefined ? grant : open, (paint) =>
          fieldLines(
            [
              ['lease', paint.bold(visible(grant.name))],
              ['holder', visible(grant.holder)],
              ['lease_seq', String(grant.lease_seq)],
              ['remaining', duration(grant.remaining_ms)],
              ['expires', grant.expires_at],
              tokenFile === undefined ? ['token', secret] : ['token file', visible(tokenFile)],
            ],
            paint,
          ),
        );
      }),
    );
}

/** A grant whose token could not be stored cannot be used, so it is released. */
async function keepToken(
  { files }: Shell,
  lh: Leasehold,
  { name, holder, token }: Body<'lease.acquire'>,
  path: string,
): Promise<void> {
  try {
    await files.write(path, `${token}\n`);
  } catch (fault) {
    await lh.call('lease.release', { name, holder, token });
    throw new Failure(
      `The token cannot be written to ${path}, so the lease was released: ${sentence(fault)}`,
    );
  }
}

function sentence(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}

interface TokenOptions extends ServerOptions {
  readonly holder: string;
  readonly tokenFile: string;
}

/** What renewing and releasing need: the holder, and the secret of the grant. */
function ownerCommand(name: string): Command {
  return serverCommand(name)
    .argument('<name>', 'the lease')
    .requiredOption('--holder <holder>', 'the holder of the lease')
    .requiredOption('--token-file <file>', 'the file with the token; - for standard input');
}

async function tokenOf(shell: Shell, { tokenFile }: TokenOptions): Promise<string> {
  const text = tokenFile === '-' ? shell.input() : fileArgument(shell, tokenFile, '--token-file');
  const token = (await text).trim();
  if (token === '') throw new Failure(`There is no token in ${tokenFile}.`);
  return token;
}

function renewCommand(shell: Shell): Command {
  return ownerCommand('renew')
    .description(
      'Renew a lease that `lease acquire` granted. This never shortens a lease and never revives one that is over.',
    )
    .requiredOption('--ttl <duration>', 'how long it lasts from now on', durationMs)
    .addHelpText(
      'after',
      examples('leasehold lease renew nightly-report --holder host-1 --ttl 10m --token-file ./token'),
    )
    .action((name: string, options: TokenOptions & { readonly ttl: number }) =>
      withServer(shell, options, async (lh) => {
        const token = await tokenOf(shell, options);
        const { holder, ttl } = options;
        const renewed = answered(await lh.call('lease.renew', { name, holder, token, ttl_ms: ttl }));
        const { token: _secret, ...open } = renewed;
        show(shell, options, open, () => [
          `${visible(name)} is yours for another ${duration(renewed.remaining_ms)}, lease_seq ${renewed.lease_seq}.`,
        ]);
      }),
    );
}

function releaseCommand(shell: Shell): Command {
  return ownerCommand('release')
    .description('Release a lease. Safe to repeat.')
    .addHelpText(
      'after',
      examples('leasehold lease release nightly-report --holder host-1 --token-file ./token'),
    )
    .action((name: string, options: TokenOptions) =>
      withServer(shell, options, async (lh) => {
        const token = await tokenOf(shell, options);
        const reply = answered(await lh.call('lease.release', { name, holder: options.holder, token }));
        show(shell, options, reply, () => [
          reply.released
            ? `${visible(name)} is free, durable at seq ${reply.seq}.`
            : `${visible(name)} was not released: the lease is over, or the holder or the token is wrong.`,
        ]);
      }),
    );
}

interface BreakOptions extends ServerOptions {
  readonly reason: string;
  readonly leaseSeq?: number;
}

interface AskOptions extends ServerOptions {
  readonly reason: string;
}

function askCommand(shell: Shell): Command {
  return serverCommand('ask')
    .description('Ask the holder of a lease to give way. The lease ends only if the holder releases it.')
    .argument('<name>', 'the lease')
    .requiredOption('--reason <reason>', 'why (required); the holder is told')
    .addHelpText('after', examples('leasehold lease ask nightly-report --reason "a deployment waits for it"'))
    .action((name: string, options: AskOptions) =>
      withServer(shell, options, async (lh) => {
        const asked = answered(await lh.call('lease.ask', { name, reason: options.reason }));
        show(shell, options, asked, () => [
          asked.told
            ? `The holder of ${visible(name)} was told.`
            : `The holder of ${visible(name)} cannot be told: it has no live connection.`,
        ]);
      }),
    );
}

function breakCommand(shell: Shell): Command {
  return serverCommand('break')
    .description('End a lease at once, for any holder. Its holder is notified, and its writes are refused.')
    .argument('<name>', 'the lease')
    .requiredOption('--reason <reason>', 'why (required); kept in the log')
    .option('--lease-seq <n>', 'only this grant, so that a newer one is not hit by mistake', wholeNumber)
    .addHelpText('after', examples('leasehold lease break nightly-report --reason "host-1 is gone"'))
    .action((name: string, options: BreakOptions) =>
      withServer(shell, options, async (lh) => {
        const { reason, leaseSeq } = options;
        const broken = answered(
          await lh.call('lease.break', {
            name,
            reason,
            ...(leaseSeq === undefined ? {} : { lease_seq: leaseSeq }),
          }),
        );
        show(shell, options, broken, () => [
          `${visible(broken.holder)} has lost ${visible(broken.name)} (lease_seq ${broken.lease_seq}), durable at seq ${broken.seq}.`,
        ]);
      }),
    );
}

function historyCommand(shell: Shell): Command {
  return serverCommand('history')
    .description('Print every entry of the log that touched a name, as far back as the log reaches.')
    .argument('<name>', 'the lease')
    .addHelpText('after', examples('leasehold lease history nightly-report'))
    .action((name: string, options: ServerOptions) =>
      withServer(shell, options, async (lh) => {
        const pages = pagesOf(Number.POSITIVE_INFINITY, async (page) => {
          const { entries, next_cursor } = answered(await lh.call('lease.history', { name, ...page }));
          return { items: entries, next: next_cursor };
        });
        await showList(shell, options, pages, ENTRY_COLUMNS);
      }),
    );
}
