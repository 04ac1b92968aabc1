// Names that begin with `system:` over real sockets: which of them a token with v1:write may acquire, by every way in.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallAnswer, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { ORCHESTRATOR_GUARD } from '../core/reserved-names.ts';

const WRITER = { token: 'token-of-a-writer' };
const ADMIN = { token: 'token-of-an-admin' };
const TOKENS = [
  { ...WRITER, scopes: ['v1:write', 'v3:admin'] },
  { ...ADMIN, scopes: ['v1:admin'] },
  { token: 'token-of-a-god', scopes: ['*'] },
];
const SECRET = 'a'.repeat(22);
const OTHER_SECRET = 'b'.repeat(22);

let served: Served;
let open: Served;
beforeAll(async () => {
  served = await startServed({ tokens: TOKENS });
  open = await startServed();
});
afterAll(stopAllServed);

interface Acquisition {
  readonly name: string;
  readonly holder: string;
  readonly token?: string;
}

type Way = (at: Served, acquisition: Acquisition, as: { readonly token: string }) => Promise<CallAnswer>;

/** Every way in which names are acquired. The answer of a batch is that of its one operation. */
const WAYS: Readonly<Record<string, Way>> = {
  'lease.acquire': (at, { name, ...rest }, as) =>
    at.call('lease.acquire', { name, ttl_ms: 60_000, ...rest }, as),
  'lease.acquire that waits': (at, { name, ...rest }, as) =>
    at.call('lease.acquire', { name, ttl_ms: 60_000, wait_ms: 5_000, ...rest }, as),
  'lease.acquire_all': (at, { name, ...rest }, as) =>
    at.call('lease.acquire_all', { names: [fresh('free'), name], ttl_ms: 60_000, ...rest }, as),
  'lease.acquire_all that waits': (at, { name, ...rest }, as) =>
    at.call('lease.acquire_all', { names: [name], ttl_ms: 60_000, wait_ms: 5_000, ...rest }, as),
  'a batch': async (at, { name, ...rest }, as) => {
    const ops = [{ op: 'lease.acquire', name, ttl_ms: 60_000, ...rest }];
    const answer = await at.send('POST', '/v1/batch', { body: { ops }, ...as });
    const [{ status, body }] = JSON.parse(answer.text).results;
    return { ...answer, status, body };
  },
};
const ways = Object.entries(WAYS);

let names = 0;
function fresh(prefix: string): string {
  names += 1;
  return `${prefix}${names}`;
}

async function holderOf(name: string): Promise<string | null> {
  const { status, body } = await served.call('lease.get', { name }, ADMIN);
  return status === 404 ? null : body.holder;
}

describe('a name under system:orchestrator:', () => {
  const FORBIDDEN = {
    code: 'FORBIDDEN',
    detail: 'Acquiring names that begin with system:orchestrator: needs the scope v1:admin.',
  };

  it.each(ways)('is not acquired with v1:write by %s', async (_, acquire) => {
    for (const name of [ORCHESTRATOR_GUARD, 'system:orchestrator:', fresh('system:orchestrator:x')]) {
      const { seq } = await served.done('status.get', {}, ADMIN);
      const { status, body } = await acquire(served, { name, holder: 'thief' }, WRITER);
      expect(status).toBe(403);
      expect(body).toMatchObject(FORBIDDEN);
      expect(await holderOf(name)).toBeNull();
      expect((await served.done('status.get', {}, ADMIN)).seq).toBe(seq);
    }
  });

  it.each(ways)('is not acquired anew in the name of its holder by %s', async (_, acquire) => {
    const name = fresh('system:orchestrator:held');
    const grant = { name, holder: 'host:1:abc', token: SECRET };
    await served.done('lease.acquire', { ...grant, ttl_ms: 60_000 }, ADMIN);
    const { holder } = await served.done('lease.get', { name }, WRITER);
    for (const token of [undefined, OTHER_SECRET, SECRET]) {
      const thief = { name, holder, ...(token === undefined ? {} : { token }) };
      expect((await acquire(served, thief, WRITER)).body).toMatchObject(FORBIDDEN);
    }
    await served.done('lease.renew', { ...grant, ttl_ms: 60_000 }, ADMIN);
  });

  it.each(ways)('is acquired with v1:admin, and without tokens by any caller, by %s', async (_, acquire) => {
    const name = fresh('system:orchestrator:admin');
    for (const at of [served, open]) {
      expect((await acquire(at, { name, holder: 'h' }, ADMIN)).status).toBe(200);
      expect((await acquire(at, { name, holder: 'h' }, ADMIN)).status).toBe(200);
    }
  });

  it('is broken with v1:admin only', async () => {
    const name = fresh('system:orchestrator:broken');
    await served.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000 }, ADMIN);
    const asWriter = await served.call('lease.break', { name, reason: 'r' }, WRITER);
    expect(asWriter.body).toMatchObject({ code: 'FORBIDDEN' });
    expect(await holderOf(name)).toBe('h');
    await served.done('lease.break', { name, reason: 'r' }, ADMIN);
  });

  it('is renewed and released with v1:write and its token', async () => {
    const proof = { name: fresh('system:orchestrator:kept'), holder: 'h', token: SECRET };
    await served.done('lease.acquire', { ...proof, ttl_ms: 60_000 }, ADMIN);
    await served.done('lease.renew', { ...proof, ttl_ms: 90_000 }, WRITER);
    expect(await served.done('lease.release', proof, WRITER)).toMatchObject({ released: true });
  });

  it('is only what begins so', async () => {
    for (const name of ['system:orchestrators', 'System:orchestrator:x', 'my system:orchestrator:x']) {
      await served.done('lease.acquire', { name, holder: 'h', ttl_ms: 1_000 }, WRITER);
    }
  });
});

describe('any other name that begins with system:', () => {
  const forbidden = (name: string) => ({
    code: 'FORBIDDEN',
    detail: `${name} is held. Acquiring it anew needs the token of that grant or the scope v1:admin.`,
  });

  it.each(ways)('is acquired with v1:write while it is free, by %s', async (_, acquire) => {
    const name = fresh('system:reports');
    expect((await acquire(served, { name, holder: 'h' }, WRITER)).status).toBe(200);
    expect(await holderOf(name)).toBe('h');
  });

  it.each(ways)('is not acquired anew with v1:write in the name of its holder by %s', async (_, acquire) => {
    const grant = { name: fresh('system:reports'), holder: 'host:1:abc', token: SECRET };
    await served.done('lease.acquire', { ...grant, ttl_ms: 60_000 }, WRITER);
    const { seq } = await served.done('status.get', {}, ADMIN);
    for (const token of [undefined, OTHER_SECRET]) {
      const thief = { name: grant.name, holder: grant.holder, ...(token === undefined ? {} : { token }) };
      const { status, body } = await acquire(served, thief, WRITER);
      expect(status).toBe(403);
      expect(body).toMatchObject(forbidden(grant.name));
    }
    expect((await served.done('status.get', {}, ADMIN)).seq).toBe(seq);
    await served.done('lease.renew', { ...grant, ttl_ms: 60_000 }, WRITER);
  });

  it('is given again to its holder and token, so that a lost reply is retried', async () => {
    const grant = { name: fresh('system:reports'), holder: 'h', token: SECRET, ttl_ms: 60_000 };
    const first = await served.done('lease.acquire', grant, WRITER);
    const again = await served.done('lease.acquire', grant, WRITER);
    expect(again).toMatchObject({ duplicate: true, lease_seq: first.lease_seq });
    const { name, ...rest } = grant;
    const all = await served.done('lease.acquire_all', { names: [name], ...rest }, WRITER);
    expect(all).toMatchObject({ duplicate: true });
  });

  it('is held against other holders as ever', async () => {
    const name = fresh('system:reports');
    await served.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000 }, WRITER);
    const { body } = await served.call('lease.acquire', { name, holder: 'other', ttl_ms: 1_000 }, WRITER);
    expect(body).toMatchObject({ code: 'LEASE_HELD', holder: 'h' });
  });

  it.each(ways)(
    'is acquired anew with v1:admin, and without tokens by any caller, by %s',
    async (_, acquire) => {
      const name = fresh('system:reports');
      for (const at of [served, open]) {
        expect((await acquire(at, { name, holder: 'h' }, ADMIN)).status).toBe(200);
        expect((await acquire(at, { name, holder: 'h' }, ADMIN)).status).toBe(200);
      }
    },
  );

  it('is acquired anew once it is over', async () => {
    const proof = { name: fresh('system:reports'), holder: 'h', token: SECRET };
    await served.done('lease.acquire', { ...proof, ttl_ms: 60_000 }, WRITER);
    await served.done('lease.release', proof, WRITER);
    await served.done('lease.acquire', { ...proof, token: OTHER_SECRET, ttl_ms: 1_000 }, WRITER);
    served.advance(1_000);
    await served.done('lease.acquire', { name: proof.name, holder: 'h', ttl_ms: 1_000 }, WRITER);
  });

  it('that stands in no place of its own is taken anew as ever', async () => {
    const name = fresh('my system:');
    await served.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000 }, WRITER);
    await served.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000 }, WRITER);
  });
});
