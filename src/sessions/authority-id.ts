/**
 * Tells the pipelines of one authority from those of another on the same machine: a random id that all orchestrators of
 * the authority share and every pipeline carries in its environment. Session ids alone cannot, since they are positions
 * of a log and every log has the same ones. The first orchestrator makes the id and keeps it as the fenced object of
 * the guard: only the holder of the guard can write it, and it survives restarts and compactions.
 *
 * A restored log takes a new id: its original may be alive on the same machine, and its pipelines carry the old one.
 */
import { ORCHESTRATOR_GUARD as GUARD } from '../core/reserved-names.ts';
import { RESTORE_JUMP } from '../engines/restored-seq.ts';
import type { Reply } from '../protocol/problem.ts';
import type { AuthorityClient } from './world.ts';

/** In the environment of every pipeline. */
export const AUTHORITY_ID = 'LEASEHOLD_AUTHORITY_ID';

export interface SharedId {
  readonly ok: true;
  readonly id: string;
}

/** The id of this authority; `newId` becomes it when there is none. */
export async function sharedAuthorityId(
  client: Pick<AuthorityClient, 'call'>,
  guardSeq: number,
  newId: string,
): Promise<Reply<SharedId>> {
  const found = await client.call('object.get', { object_id: GUARD });
  if (!found.ok && found.code !== 'OBJECT_NOT_FOUND') return found;
  if (found.ok && guardSeq - found.seq < RESTORE_JUMP) {
    const { authority_id: id } = Object(found.value?.parse()) as { readonly authority_id?: unknown };
    if (typeof id === 'string' && id !== '') return { ok: true, id };
  }
  const value = { authority_id: newId };
  const lease = { lease_seq: guardSeq };
  const written = await client.call('object.write', { object_id: GUARD, value, lease });
  return written.ok ? { ok: true, id: newId } : written;
}
