// SIGHUP to a server: when the reload is carried out, what is read again, and what is said of files that cannot be used.
import { describe, expect, it } from 'vitest';
import { RENEWED_CERTIFICATE, RENEWED_KEY, TEST_KEY } from '../../test/support/test-certificate.ts';
import type { TokenGrant } from '../server/scopes.ts';
import { assertUsableTls } from '../server/usable-tls.ts';
import { onReloadSignal, reloadAccess } from './reload.ts';

const GRANT = { token: 'read-0123456789abcdef', scopes: ['v1:read'] };
const OWN = { token: 'own-0123456789abcdefg', scopes: ['*'] };

/** A reload of these files, in a world without a server. */
async function reloaded(files: Record<string, string>, flags: object, env: Record<string, string> = {}) {
  const said: [level: string, says: string, fields: object][] = [];
  const say = (level: string) => (fields: object, says: string) => void said.push([level, says, fields]);
  const given: { tokens: readonly TokenGrant[] | null; cert: string | null } = { tokens: null, cert: null };
  const read = async (path: string): Promise<string> => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('none'), { code: 'ENOENT' });
    return text;
  };
  await reloadAccess(
    { env, files: { read } },
    {
      access: {
        replaceTokens(grants) {
          given.tokens = grants;
        },
        replaceTls(tls) {
          const certificate = assertUsableTls(tls);
          given.cert = tls.cert;
          return certificate;
        },
      },
      flags,
      more: [OWN],
      address: '127.0.0.1:7420',
      logger: {
        debug: say('debug'),
        info: say('info'),
        warn: say('warn'),
        error: say('error'),
        isLevelEnabled: () => true,
      },
    },
  );
  return { said, given };
}

const TLS = { tlsCert: 'cert.pem', tlsKey: 'key.pem' };

describe('a reload', () => {
  it('reads tokens and certificate, keeps the tokens that stand in no file, and says what is new', async () => {
    const files = {
      'tokens.json': JSON.stringify([GRANT]),
      'cert.pem': RENEWED_CERTIFICATE,
      'key.pem': RENEWED_KEY,
    };
    const { said, given } = await reloaded(files, { tokens: 'tokens.json', ...TLS });
    expect(given).toEqual({ tokens: [GRANT, OWN], cert: RENEWED_CERTIFICATE });
    expect(said).toEqual([
      ['info', 'tokens reloaded', { tokens: 1, file: 'tokens.json' }],
      [
        'info',
        'certificate reloaded',
        {
          subject: 'CN=renewed.localhost',
          valid_from: expect.stringMatching(/GMT$/),
          valid_to: expect.stringMatching(/2126 GMT$/),
          file: 'cert.pem',
        },
      ],
    ]);
  });

  it.each([
    ['is not there', {}, /The tokens in tokens\.json \(--tokens\) cannot be used: there is no such file\./],
    ['is not JSON', { 'tokens.json': '[{' }, /tokens\.json is not JSON/],
    ['is an empty list', { 'tokens.json': '[]' }, /at least one token/],
    [
      'has an unknown scope',
      { 'tokens.json': JSON.stringify([{ ...GRANT, scopes: ['v9:read'] }]) },
      /unknown scope "v9:read"/,
    ],
  ])('keeps the old tokens when the file %s, and says why', async (_, files, why) => {
    const { said, given } = await reloaded(files, { tokens: 'tokens.json' });
    expect(given.tokens).toBeNull();
    expect(said).toEqual([
      ['error', 'the tokens are not reloaded; the old ones stay', { why: expect.stringMatching(why) }],
    ]);
  });

  it('takes new tokens although the certificate cannot be used', async () => {
    const files = {
      'tokens.json': JSON.stringify([GRANT]),
      'cert.pem': RENEWED_CERTIFICATE,
      'key.pem': TEST_KEY,
    };
    const { said, given } = await reloaded(files, { tokens: 'tokens.json', ...TLS });
    expect(given).toEqual({ tokens: [GRANT, OWN], cert: null });
    expect(said.at(-1)).toEqual([
      'error',
      'the certificate is not reloaded; the old one stays',
      { why: expect.stringMatching(/key in key\.pem \(--tls-key\) does not belong to .*cert\.pem/) },
    ]);
  });

  it('says that the environment of a process does not change', async () => {
    const { said, given } = await reloaded({}, {}, { LEASEHOLD_TOKENS: JSON.stringify([GRANT]) });
    expect(given.tokens).toBeNull();
    expect(said[0]).toEqual(['warn', expect.stringMatching(/LEASEHOLD_TOKENS cannot be reloaded/), {}]);
  });

  it('warns of short tokens, except of those whose length is not known', async () => {
    const hash = { token: `sha256:${'0'.repeat(64)}`, scopes: ['*'] };
    const files = { 'tokens.json': JSON.stringify([hash, { token: 'short', scopes: ['*'], name: 'mine' }]) };
    const { said } = await reloaded(files, { tokens: 'tokens.json' });
    expect(said.filter(([level]) => level === 'warn')).toEqual([
      ['warn', expect.stringMatching(/so short/), { name: 'mine' }],
    ]);
  });
});

describe('SIGHUP', () => {
  function stage() {
    let hangUp = (): void => undefined;
    const reloadWith = onReloadSignal({
      processes: {
        onSignals(_: unknown, call: (signal: 'SIGHUP') => void) {
          hangUp = () => call('SIGHUP');
          return () => undefined;
        },
      } as unknown as Parameters<typeof onReloadSignal>[0]['processes'],
    });
    return { reloadWith, hangUp: () => hangUp() };
  }
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

  it('that comes while the server starts is carried out once it serves', async () => {
    const { reloadWith, hangUp } = stage();
    let times = 0;
    hangUp();
    hangUp();
    reloadWith(async () => void times++);
    await turn();
    expect(times).toBe(1);
  });

  it('that comes during a reload causes one more, after it', async () => {
    const { reloadWith, hangUp } = stage();
    let times = 0;
    let finish = (): void => undefined;
    reloadWith(() => {
      times += 1;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    hangUp();
    hangUp();
    hangUp();
    expect(times).toBe(1);
    finish();
    await turn();
    expect(times).toBe(2);
    finish();
    await turn();
    expect(times).toBe(2);
  });
});
