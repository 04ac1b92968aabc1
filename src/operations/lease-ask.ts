/** `lease.ask`: asks the holder of a named lease to give way. Nothing is written; the holder decides. */
import { Type } from '@sinclair/typebox';
import { readName } from '../authority/reads.ts';
import { REPORT } from './example-story.ts';
import { fields, LeaseName, note, Reason } from './fields.ts';
import { leaderAct } from './operation.ts';
import { Flag } from './reply-fields.ts';

export const askLease = leaderAct({
  name: 'lease.ask',
  path: '/v1/leases/{name}/ask',
  scope: 'v1:write',
  does: 'Ask the holder of a named lease to give way. The lease ends only if the holder releases it.',
  details: `The holder is told over the [live connection](protocol.md) over which it acquired or last renewed the lease; \`told\` says whether
there is one. \`LEASE_NOT_FOUND\`: the name is not held. To end a lease without its holder's consent, [break](#leasebreak) it.`,
  request: fields({ name: LeaseName, reason: note(Reason, 'Why, for the holder.') }),
  reply: Type.Object({ told: note(Flag, 'whether the holder was told') }),
  refusals: ['LEASE_NOT_FOUND'],
  example: {
    request: { name: REPORT.name, reason: 'a deployment waits for it' },
    reply: { told: true },
  },
  async look({ name, reason }, { authority }) {
    const image = await authority.read((machine) => readName(machine, name));
    if (image === null || image.end !== 'live') return { refused: 'LEASE_NOT_FOUND' };
    return { ok: true, told: authority.soft.holders.ask(name, image.leaseSeq, reason) };
  },
});
