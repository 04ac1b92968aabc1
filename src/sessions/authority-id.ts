/**
 * Distinguishes the pipelines of one authority from those of another on the same machine: a random id that all
 * orchestrators of the authority share and every pipeline has in its environment. Session ids are not enough: they
 * are log positions, and every log has the same ones. The first orchestrator generates the id and stores it as the
 * fenced object of the guard: only the holder of the guard can write it, and it survives restarts and compactions.
 *
 * A restored log gets a new id: the original may still run on the same machine, and its pipelines carry the old one.
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

/** The id of this authority. If it has none, `newId` becomes it. */
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
