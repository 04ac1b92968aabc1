/** Reads the log back from what is durable, as a restart would, and compares it with what is live. */
import type { Authority } from '../../../src/authority/authority.ts';
import { apply } from '../../../src/core/apply.ts';
import { restoreImage } from '../../../src/core/image-io.ts';
import { createState, type State } from '../../../src/core/state.ts';
import { stateHash } from '../../../src/core/state-hash.ts';
import { recover } from '../../../src/engines/file/recovery.ts';
import type { LoggedEntry } from '../../../src/engines/log.ts';
import { memoryEngine } from '../../../src/engines/memory/memory-engine.ts';
import type { AuthorityNode } from './authority-node.ts';
import { DATA_DIR } from './sim-disk.ts';
import type { SimProcess } from './sim-process.ts';

export interface Replayed {
  readonly state: State;
  readonly entries: readonly LoggedEntry[];
}

/** Everything durable up to a seq. Only reads, and so takes no time. */
async function replayDurable(node: AuthorityNode, throughSeq: number): Promise<Replayed> {
  const state = createState(1);
  const entries: LoggedEntry[] = [];
  const replay = {
    image: (record: Parameters<typeof restoreImage>[1]) => restoreImage(state, record),
    entry(entry: LoggedEntry['entry'], seq: number, atMs: number) {
      if (seq > throughSeq) return;
      apply(state, entry, seq, atMs);
      entries.push({ seq, atMs, entry });
    },
  };
  if (node.plan.engine === 'memory') {
    // A log opened for reading must not take the right to append from its writer.
    const { writer } = node.memory;
    const opening = memoryEngine(node.memory).open(replay);
    node.memory.writer = writer;
    await opening;
  } else {
    const { segmentBytes } = node.plan;
    await recover({ files: node.disk.durableFiles(), dir: DATA_DIR, replay, segmentBytes });
  }
  return { state, entries };
}

/** A log that its own writer could not read back is noted as what it is. */
export async function tryReplay(node: AuthorityNode, throughSeq: number): Promise<Replayed | null> {
  try {
    return await replayDurable(node, throughSeq);
  } catch (fault) {
    node.recorder.broken(
      'replay',
      fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault),
    );
    return null;
  }
}

export async function noteState(
  node: AuthorityNode,
  process: SimProcess,
  authority: Authority,
): Promise<boolean> {
  let live: { hash: string; lastSeq: number };
  try {
    live = await authority.read(({ state }) => ({ hash: stateHash(state), lastSeq: state.lastSeq }));
  } catch {
    // Refused, overloaded or dying: there is nothing to compare with.
    return false;
  }
  if (process.isDead) return false;
  const replayed = await tryReplay(node, live.lastSeq);
  if (replayed === null) return false;
  const { state } = replayed;
  node.recorder.note({
    kind: 'state',
    node: process.name,
    lastSeq: live.lastSeq,
    hash: live.hash,
    replayHash: stateHash(state),
    replaySeq: state.lastSeq,
  });
  return true;
}
