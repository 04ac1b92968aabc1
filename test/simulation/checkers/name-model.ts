// A name as a caller may think of it: at most one live grant, the fence, and the object that only the holder writes. The
// authority's own times decide about ends; a grant is over when an entry says so, and no entry may come too early.
import { touchesName } from './claims.ts';
import { GUARD, GUARD_PREFIX, writesIn } from './ownership.ts';
import type { Call, Era, Fact } from './reading.ts';
import { hashOf, list, millis, namesOf, record, text, whole } from './reading.ts';
import type { SubjectModel } from './subjects.ts';

interface Grant {
  readonly seq: number;
  readonly holder: string;
  readonly tokenHash: string;
  readonly expiresAtMs: number;
}

export interface NameState {
  readonly live: Grant | null;
  /** The newest grant when it is over. */
  readonly past: { readonly grant: Grant; readonly how: 'expired' | 'otherwise' } | null;
  readonly fence: number;
  /** Of the object, also after it was deleted. */
  readonly version: number;
  readonly hasObject: boolean;
  readonly seq: number;
  readonly nowMs: number;
}

const NOTHING: NameState = {
  live: null,
  past: null,
  fence: 0,
  version: 0,
  hasObject: false,
  seq: 0,
  nowMs: 0,
};

export const NAME_MODEL: SubjectModel<NameState> = {
  initial: NOTHING,
  key: ({ seq }) => String(seq),

  subjectsOfEntry(fact, known) {
    const { entry } = fact;
    if (entry.type === 'NamesWiped') return [...known].filter((name) => isWiped(name, text(entry.prefix)));
    if (entry.type === 'EpochStarted') return entry.restored === true ? [...known] : [];
    // Which service its session had is in no entry about its end, so any may be free from then on.
    if (entry.type === 'SessionChanged') return [...known].filter((name) => touchesName(fact, name));
    const written = writesIn(fact).map(({ objectId }) => objectId);
    if (written.length > 0) return [...new Set(written)];
    return entry.name === undefined && entry.names === undefined ? [] : namesOf(entry);
  },

  subjectsOfCall({ call }) {
    const { op, request } = call;
    if (op === 'object.write' || op === 'object.delete' || op === 'object.get')
      return [text(request.object_id)];
    if (op === 'lease.wipe') return [text(record(request.guard).name)];
    return op.startsWith('lease.') && op !== 'lease.list' && op !== 'lease.history' ? namesOf(request) : [];
  },

  apply(state, fact, name) {
    const { entry, seq, atMs } = fact;
    if (seq <= state.seq || atMs < state.nowMs || !touchesName(fact, name)) return null;
    const after = { ...state, seq, nowMs: atMs };
    const live = isOver(state.live, atMs) ? null : state.live;
    switch (entry.type) {
      case 'NameLeased': {
        // An expired lease must have been written as expired before another holder can get it.
        if (state.live !== null && live?.holder !== entry.holder) return null;
        return { ...after, live: grantIn(fact), past: null, fence: seq };
      }
      case 'NameRenewed': {
        const expiresAtMs = millis(entry.expires_at);
        if (live?.seq !== entry.lease_seq || live === null || expiresAtMs <= live.expiresAtMs) return null;
        return { ...after, live: { ...live, expiresAtMs } };
      }
      case 'NameReleased':
      case 'NameBroken':
        return live?.seq === entry.lease_seq ? ended(after, 'otherwise') : null;
      case 'SessionChanged':
        return state.live?.seq === entry.lease_seq ? ended(after, 'otherwise') : after;
      case 'NamesWiped':
      case 'EpochStarted':
        return state.live === null ? after : ended(after, 'otherwise');
      case 'NameExpired':
        return state.live?.seq === entry.lease_seq && live === null ? ended(after, 'expired') : null;
      case 'ObjectWritten':
      case 'ObjectDeleted':
      case 'TaskCompleted': {
        const writes = writesIn(fact).filter(({ objectId }) => objectId === name);
        if (live === null || writes.some(({ leaseSeq }) => leaseSeq !== live.seq)) return null;
        const version = state.version + writes.length;
        if (writes.at(-1)!.version !== version) return null;
        return { ...after, version, hasObject: entry.type !== 'ObjectDeleted' };
      }
      case 'Forgotten':
        return state.live === null ? { ...NOTHING, seq, nowMs: atMs } : null;
      default:
        return null;
    }
  },

  justifies({ live }, { call, answer }, fact, name) {
    const { request } = call;
    const body = answer!.body;
    switch (call.op) {
      case 'lease.acquire':
      case 'lease.acquire_all': {
        const lease = leaseIn(body, name);
        const expiresAtMs = fact.atMs + whole(request.ttl_ms);
        const isMine = fact.entry.token_sha256 === hashOf(lease.token);
        const isChosen = request.token === undefined || request.token === lease.token;
        return isMine && isChosen && millis(lease.expires_at) === expiresAtMs && lease.lease_seq === fact.seq;
      }
      case 'lease.renew': {
        if (!isProved(live, request)) return false;
        const expiresAtMs = Math.max(live!.expiresAtMs, fact.atMs + whole(request.ttl_ms));
        return body.lease_seq === live!.seq && millis(body.expires_at) === expiresAtMs;
      }
      case 'lease.release':
        return isProved(live, request);
      case 'lease.break':
        return request.lease_seq === undefined || request.lease_seq === live?.seq;
      case 'object.write':
      case 'object.delete': {
        const lease = record(request.lease);
        const isHolder = lease.holder_id === undefined || lease.holder_id === live?.holder;
        return lease.lease_seq === live?.seq && isHolder && body.version === fact.entry.version;
      }
      default:
        return true;
    }
  },

  needs(call, name, era) {
    const { status, body } = call.answer!;
    const { op } = call.call;
    if (status < 300) {
      const isLease = op === 'lease.acquire' || op === 'lease.acquire_all' || op === 'lease.get';
      return isLease ? whole(leaseIn(body, name).lease_seq) || 0 : 0;
    }
    const isHeld = body.code === 'LEASE_HELD' && whole(body.remaining_ms) > 0;
    if (!isHeld || namesOf(call.call.request).length > 1) return 0;
    return firstGrantsOf(era).get(`${text(body.holder)} ${name}`) ?? 0;
  },

  allows(state, call, name) {
    return call.answer!.status < 300 ? isShown(state, call, name) : isRefused(state, call);
  },
};

function grantIn({ entry, seq }: Fact): Grant {
  return {
    seq,
    holder: text(entry.holder),
    tokenHash: text(entry.token_sha256),
    expiresAtMs: millis(entry.expires_at),
  };
}

const firstGrants = new WeakMap<Era, ReadonlyMap<string, number>>();

/** Since when each holder could have each name. */
function firstGrantsOf(era: Era): ReadonlyMap<string, number> {
  const found = firstGrants.get(era);
  if (found !== undefined) return found;
  const first = new Map<string, number>();
  for (const { entry, seq } of era.facts) {
    if (entry.type !== 'NameLeased') continue;
    for (const name of namesOf(entry)) {
      const key = `${text(entry.holder)} ${name}`;
      if (!first.has(key)) first.set(key, seq);
    }
  }
  firstGrants.set(era, first);
  return first;
}

function isWiped(name: string, prefix: string): boolean {
  return name.startsWith(prefix) && !name.startsWith(GUARD_PREFIX);
}

function ended(state: NameState, how: 'expired' | 'otherwise'): NameState {
  return { ...state, live: null, past: { grant: state.live!, how } };
}

function isOver(grant: Grant | null, atMs: number): boolean {
  return grant !== null && grant.expiresAtMs <= atMs;
}

/** Holder and token are those of this grant. */
function isProved(grant: Grant | null, proof: ReturnType<typeof record>): boolean {
  return grant !== null && grant.holder === proof.holder && grant.tokenHash === hashOf(proof.token);
}

function leaseIn(body: ReturnType<typeof record>, name: string): ReturnType<typeof record> {
  return list(body.leases).find((lease) => lease.name === name) ?? body;
}

/** What was shown is the live grant, at a moment before its end that is not in the past. */
function isLive({ live, nowMs }: NameState, lease: ReturnType<typeof record>): boolean {
  const atMs = millis(lease.expires_at) - whole(lease.remaining_ms);
  const isSame = live !== null && live.seq === lease.lease_seq && live.holder === lease.holder;
  return isSame && millis(lease.expires_at) === live.expiresAtMs && nowMs <= atMs && atMs < live.expiresAtMs;
}

function isShown(state: NameState, { call, answer }: Call, name: string): boolean {
  const { live } = state;
  const body = answer!.body;
  switch (call.op) {
    case 'lease.acquire':
    case 'lease.acquire_all':
      return isLive(state, leaseIn(body, name)) && isProved(live, call.request);
    case 'lease.renew':
      return isLive(state, body) && isProved(live, call.request);
    case 'lease.get':
      return isLive(state, body);
    case 'lease.release':
      return body.released === false && !isProved(live, call.request);
    case 'object.get':
      return state.hasObject && body.version === state.version;
    default:
      return true;
  }
}

function isRefused(state: NameState, { call, answer }: Call): boolean {
  const { live, past, fence, version, hasObject } = state;
  const { request, op } = call;
  const { code, holder, remaining_ms: remainingMs } = answer!.body;
  const presented = whole(record(request.lease).lease_seq);
  const isWrite = op === 'object.write' || op === 'object.delete';
  switch (code) {
    case 'LEASE_HELD': {
      // Of several names any may be in the way; lines are not in the log, and who is first in one has no time left.
      if (namesOf(request).length > 1) return true;
      if (remainingMs === undefined || remainingMs === 0) return live === null || live.holder !== holder;
      return live !== null && live.holder === holder && live.expiresAtMs - whole(remainingMs) >= state.nowMs;
    }
    case 'LEASE_NOT_HELD':
      return op !== 'lease.renew' || !isProved(live, request);
    case 'LEASE_EXPIRED':
      if (isWrite) return live === null && presented === fence;
      return past?.how === 'expired' && isProved(past.grant, request);
    case 'LEASE_NOT_FOUND':
      return live === null;
    case 'LEASE_NOT_CURRENT':
      return live !== null && live.seq !== request.lease_seq;
    case 'GUARD_NOT_HELD':
      return record(request.guard).name !== GUARD || !isProved(live, record(request.guard));
    case 'WRITE_UNFENCED':
      return Number.isNaN(presented);
    case 'WRITE_STALE_FENCE':
      // A name that never existed or was forgotten has no fence of its own.
      return presented < fence || fence === 0;
    case 'WRITE_UNKNOWN_FENCE':
      return presented > fence;
    case 'LEASE_HOLDER_MISMATCH':
      return (live ?? past?.grant)?.holder !== record(request.lease).holder_id;
    case 'VERSION_MISMATCH':
      return request.if_version !== (hasObject ? version : 0);
    case 'OBJECT_NOT_FOUND':
      return !hasObject;
    default:
      // Anything else says nothing about the name: bad input, an overload, a full disk.
      return true;
  }
}
