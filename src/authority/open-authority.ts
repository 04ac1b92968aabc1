/** Opens a log and puts the single writer in front of it: verify, replay, start the epoch, serve. */
import { apply } from '../core/apply.ts';
import type { EpochStarted } from '../core/entries.ts';
import { restoreImage } from '../core/image-io.ts';
import { createState, LOG_FORMAT, LOG_VERSION, type State } from '../core/state.ts';
import { type Engine, LogTooNewError, type Replay } from '../engines/log.ts';
import { Authority, type AuthorityOptions } from './authority.ts';

export async function openAuthority(
  engine: Engine,
  options: AuthorityOptions & { readonly hashSeed: number },
): Promise<Authority> {
  const state = createState(options.hashSeed);
  const fromMs = options.clock.monotonicMs();
  const log = await engine.open(replayInto(state));
  const authority = new Authority(state, log, options);
  authority.stats.replayMs = options.clock.monotonicMs() - fromMs;
  try {
    await authority.start();
  } catch (fault) {
    // A failed start must not keep the log from the next attempt.
    await log.close();
    throw fault;
  }
  return authority;
}

/** Rebuilds the state from the image and the entries of a log. */
export function replayInto(state: State): Replay {
  return {
    image: (record) => restoreImage(state, record),
    entry(entry, seq, atMs) {
      if (entry.type === 'EpochStarted') assertReadable(entry);
      apply(state, entry, seq, atMs);
    },
  };
}

function assertReadable({ format, version }: EpochStarted): void {
  if (format === LOG_FORMAT && version <= LOG_VERSION) return;
  const ours = `${LOG_FORMAT} version ${LOG_VERSION}`;
  throw new LogTooNewError(
    `The log was written as ${format} version ${version}; this program reads ${ours}.`,
  );
}
