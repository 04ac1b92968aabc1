/**
 * Commands that read the state, now or, with `--at-seq` or `--at`, as of an earlier position. A command reads one
 * position only, whatever is written meanwhile, and counts "ago" from the time of that position.
 */
import { type Command, Option } from 'commander';
import type { Leasehold } from '../client/leasehold.ts';
import type { Body, Operation, Requests } from '../operations/table.ts';
import type { Reply } from '../protocol/problem.ts';
import { INSTANT_FORMS, instantArgument, wholeNumber } from './arguments.ts';
import { type ServerOptions, serverCommand, withServer } from './connection.ts';
import { answered } from './failure.ts';
import type { Shell } from './shell.ts';

export interface ReadOptions extends ServerOptions {
  readonly atSeq?: number;
  readonly at?: string;
}

type StateRead = { [Op in Operation]: 'at_seq' extends keyof Requests[Op] ? Op : never }[Operation];

export interface Reads {
  /** The URL of the server. */
  readonly url: string;
  readonly lh: Leasehold;
  /** Whether an earlier position was requested, of which soft state is not known. */
  readonly isPast: boolean;
  /** The time of the position; now, unless an earlier one was requested. */
  readonly nowMs: number;
  /** The reply, which may be a problem. */
  ask<Op extends StateRead>(operation: Op, request: Requests[Op]): Promise<Reply<Body<Op>>>;
  /** The body; a refusal is thrown as a failure. */
  get<Op extends StateRead>(operation: Op, request: Requests[Op]): Promise<Body<Op>>;
}

export function readCommand(shell: Shell, name: string): Command {
  return readsPast(shell, serverCommand(name));
}

export function readsPast({ clock }: Shell, command: Command): Command {
  return command
    .addOption(
      new Option('--at-seq <seq>', 'show the state as of this position of the log')
        .argParser(wholeNumber)
        .conflicts('at'),
    )
    .addOption(
      new Option(
        '--at <when>',
        `show the state as of the last entry before ${INSTANT_FORMS}; times left count from that entry`,
      ).argParser(instantArgument(clock)),
    );
}

export function withReads<T>(
  shell: Shell,
  options: ReadOptions,
  work: (reads: Reads) => Promise<T>,
): Promise<T> {
  return withServer(shell, options, async (lh, { url }) => {
    const { past, nowMs } = await momentOf(shell, options, lh);
    const ask: Reads['ask'] = (operation, request) => lh.call(operation, { ...request, ...past });
    return work({
      url,
      lh,
      isPast: past.at_seq !== undefined,
      nowMs,
      ask,
      get: async (operation, request) => answered(await ask(operation, request)),
    });
  });
}

/** An instant becomes a position first: between two pages the last entry of that instant may change. */
async function momentOf(
  { clock, err }: Shell,
  { atSeq, at, json }: ReadOptions,
  lh: Leasehold,
): Promise<{ readonly past: { readonly at_seq?: number }; readonly nowMs: number }> {
  if (atSeq === undefined && at === undefined) return { past: {}, nowMs: clock.wallMs() };
  const asked = atSeq === undefined ? { at: at! } : { at_seq: atSeq };
  const { seq, last_commit: commit } = answered(await lh.call('status.get', asked));
  if (!json) err.write(seq === 0 ? 'Before the log begins:\n' : `As of seq ${seq}, ${commit}:\n`);
  return { past: { at_seq: seq }, nowMs: Date.parse(commit) };
}
