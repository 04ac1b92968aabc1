/**
 * Which measurements a run takes, in which order. Pure. Rounds of one work and width stand beside each other, and within
 * a round every peer has its turn, so that figures which are compared were taken within minutes of each other.
 */
import { WORKS } from './works.mjs';

/** Peers of a quick run; it leaves out what needs Postgres. */
const QUICK_PEERS = ['leasehold', 'redlock', 'BullMQ', 'beanstalkd', 'sketch', 'bare queue'];
const QUICK_WIDTH = 64;

/** `only` lists peers with a part of their variants' names; `works` names, `widths` numbers; null is all. */
export function planOf(peers, { isQuick, only, works, widths, rounds }) {
  const jobs = [];
  const skipped = [];
  for (const work of WORKS) {
    if (works !== null ? !works.includes(work.name) : isQuick && work.isLong) continue;
    for (const width of isQuick ? quickWidths(work) : work.widths) {
      if (widths !== null && !widths.includes(width)) continue;
      const entrants = [];
      for (const { driver, peer } of peers) {
        if (only === null && isQuick && !QUICK_PEERS.includes(peer.name)) continue;
        if (!peer.kinds.includes(work.kind)) continue;
        for (const variant of peer.variants) {
          if (only !== null && !only.some(({ peer: name, part }) => isNamed(peer, variant, name, part)))
            continue;
          if (only === null && isQuick && variant.needs?.postgres) continue;
          if (variant.batch !== undefined && (work.name !== 'lifecycle' || width < variant.batch)) continue;
          const entrant = { driver, peer: peer.name, variant: variant.name, durable: variant.durable };
          const reason = variant.skips?.[work.name];
          if (reason === undefined) entrants.push({ ...entrant, needs: { ...peer.needs, ...variant.needs } });
          else skipped.push({ work: work.name, peer: peer.name, variant: variant.name, reason });
        }
      }
      for (let round = 0; round < rounds; round++) {
        // Each round begins with another peer, so that none is always first or always after the same one.
        const from = Math.floor((round * entrants.length) / rounds);
        for (const entrant of [...entrants.slice(from), ...entrants.slice(0, from)]) {
          jobs.push({ ...entrant, work: work.name, width, round: round + 1, limitMs: work.limitMs });
        }
      }
    }
  }
  return { jobs, skipped };
}

const isNamed = (peer, variant, name, part) =>
  peer.name === name && variant.name.toLowerCase().includes(part.toLowerCase());

const quickWidths = (work) =>
  work.quickWidths ?? (work.widths.includes(QUICK_WIDTH) ? [QUICK_WIDTH] : work.widths);
