// Who may do what: the list of tokens is read strictly, and a scope holds exactly what it implies.
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LOCAL_CALLER, may, parseTokens, Tokens } from './scopes.ts';

const SECRET = 'secret-of-16-byte';
const hashed = (token: string) => `sha256:${hash('sha256', token, 'hex')}`;
const read = (list: unknown) => parseTokens(JSON.stringify(list), 'tokens.json');

describe('a list of tokens', () => {
  it('is read with scopes and names', () => {
    const grants = [
      { token: SECRET, scopes: ['v1:read', 'v3:admin'], name: 'dashboard' },
      { token: `${SECRET}-2`, scopes: ['*'] },
      { token: 'short', scopes: [], name: 'may do nothing' },
    ];
    expect(read(grants)).toEqual(grants);
  });

  it.each([
    ['[', 'tokens.json is not JSON; it must be a list like [{"token": "…", "scopes": ["v1:read"]}].'],
    ['', 'tokens.json is not JSON; it must be a list like [{"token": "…", "scopes": ["v1:read"]}].'],
    ['[]', 'tokens.json must be a list of at least one token.'],
    ['{}', 'tokens.json must be a list of at least one token.'],
    ['"secret"', 'tokens.json must be a list of at least one token.'],
    ['[1]', 'Token 1 of tokens.json is not an object.'],
    ['[null]', 'Token 1 of tokens.json is not an object.'],
  ])('that is %s is refused in a sentence', (text, says) => {
    expect(() => parseTokens(text, 'tokens.json')).toThrow(new TypeError(says));
  });

  it.each([
    ['without a token', { scopes: ['*'] }, 'Token 2 of list must have 1 to 256 visible ASCII characters.'],
    [
      'with an empty token',
      { token: '', scopes: ['*'] },
      'Token 2 of list must have 1 to 256 visible ASCII characters.',
    ],
    [
      'with a long token',
      { token: 'x'.repeat(257), scopes: ['*'] },
      'Token 2 of list must have 1 to 256 visible ASCII characters.',
    ],
    [
      'with a space in it',
      { token: 'x x x x x x x x x', scopes: ['*'] },
      'Token 2 of list must have 1 to 256 visible ASCII characters.',
    ],
    [
      'with letters no header carries',
      { token: 'ü'.repeat(20), scopes: ['*'] },
      'Token 2 of list must have 1 to 256 visible ASCII characters.',
    ],
    [
      'with a number for a token',
      { token: 1e20, scopes: ['*'] },
      'Token 2 of list must have 1 to 256 visible ASCII characters.',
    ],
    [
      'with a hash that is too short',
      { token: 'sha256:00ff', scopes: ['*'] },
      'Token 2 of list begins with sha256: and must continue with 64 hexadecimal digits.',
    ],
    ['without scopes', { token: `${SECRET}!` }, 'Token 2 of list must have scopes.'],
    ['with a scope for a list', { token: `${SECRET}!`, scopes: '*' }, 'Token 2 of list must have scopes.'],
    [
      'with an unknown scope',
      { token: `${SECRET}!`, scopes: ['v1:read', 'v2:read'] },
      'Token 2 of list has the unknown scope "v2:read"; known are v1:read v1:write v1:admin v3:read v3:write v3:admin *.',
    ],
    [
      'with a number for a scope',
      { token: `${SECRET}!`, scopes: [1] },
      'Token 2 of list has the unknown scope 1; known are v1:read v1:write v1:admin v3:read v3:write v3:admin *.',
    ],
    [
      'with a number for a name',
      { token: `${SECRET}!`, scopes: ['*'], name: 7 },
      'The name of Token 2 of list must be text.',
    ],
    [
      'with an unknown field',
      { token: `${SECRET}!`, scopes: ['*'], expires: 'never' },
      'Token 2 of list has the unknown field expires.',
    ],
  ])('%s is refused in a sentence that shows no token', (_, bad, says) => {
    const list = JSON.stringify([{ token: SECRET, scopes: ['*'] }, bad]);
    expect(() => parseTokens(list, 'list')).toThrow(new TypeError(says));
  });

  it('that names a token twice is refused: which of the two would count?', () => {
    const twice = [
      { token: SECRET, scopes: ['v1:read'] },
      { token: SECRET, scopes: ['*'] },
    ];
    expect(() => read(twice)).toThrow(new TypeError('tokens.json has the same token twice.'));
  });

  it('that names a token and its hash names it twice', () => {
    const twice = [
      { token: SECRET, scopes: ['v1:read'] },
      { token: hashed(SECRET), scopes: ['*'] },
    ];
    expect(() => read(twice)).toThrow(new TypeError('tokens.json has the same token twice.'));
  });
});

describe('a scope', () => {
  const callerWith = (...scopes: string[]) =>
    new Tokens([{ token: SECRET, scopes }]).find(`Bearer ${SECRET}`)!;

  it.each([
    ['v1:read', ['v1:read']],
    ['v1:write', ['v1:read', 'v1:write']],
    ['v1:admin', ['v1:read', 'v1:write', 'v1:admin']],
    ['v3:admin', []],
    ['*', ['v1:read', 'v1:write', 'v1:admin', '*']],
  ] as const)('%s holds what it implies and nothing else', (scope, held) => {
    const all = ['v1:read', 'v1:write', 'v1:admin', '*'] as const;
    expect(all.filter((each) => may(callerWith(scope), each))).toEqual(held);
  });

  it('adds to the others of its token', () => {
    const caller = callerWith('v3:write', 'v1:read');
    expect([...caller.scopes].sort()).toEqual(['v1:read', 'v3:read', 'v3:write']);
  });

  it('is not needed on a machine without tokens', () => {
    expect(may(LOCAL_CALLER, 'v1:admin')).toBe(true);
    expect(may(LOCAL_CALLER, '*')).toBe(true);
  });
});

describe('the Authorization header', () => {
  const tokens = new Tokens([
    { token: `${SECRET}-a`, scopes: ['v1:read'], name: 'a' },
    { token: `${SECRET}-b`, scopes: ['v1:read'] },
    { token: `${SECRET}-c`, scopes: ['v1:read'], name: 'c' },
  ]);

  it.each(['a', 'b', 'c'])('finds the token wherever it stands in the list: %s', (which) => {
    const name = which === 'b' ? 'token 2' : which;
    expect(tokens.find(`Bearer ${SECRET}-${which}`)?.name).toBe(name);
  });

  it.each([`bearer ${SECRET}-a`, `BEARER ${SECRET}-a`, `Bearer   ${SECRET}-a  `])(
    'is read as RFC 6750 has it: %s',
    (header) => {
      expect(tokens.find(header)?.name).toBe('a');
    },
  );

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Bearer ${SECRET}`,
    `Bearer ${SECRET}-aa`,
    `Bearer ${SECRET}-A`,
    `Bearer ${SECRET}-a ${SECRET}-b`,
    `Bearer ${SECRET}-a, Bearer ${SECRET}-b`,
    `Bearer${SECRET}-a`,
    `${SECRET}-a`,
    `Basic ${SECRET}-a`,
    `Token ${SECRET}-a`,
    `Bearer "${SECRET}-a"`,
    `Bearer ${'x'.repeat(10_000)}`,
  ])('without a known token is no caller: %s', (header) => {
    expect(tokens.find(header)).toBeNull();
  });
});

describe('a token that is listed by its hash', () => {
  const tokens = new Tokens(
    read([{ token: hashed(SECRET).toUpperCase().replace('SHA256', 'sha256'), scopes: ['*'] }]),
  );

  it('is found by the token', () => {
    expect(tokens.find(`Bearer ${SECRET}`)).toMatchObject({ granted: ['*'] });
  });

  it('is not found by the hash', () => {
    expect(tokens.find(`Bearer ${hashed(SECRET)}`)).toBeNull();
  });
});

describe('a list that replaces another', () => {
  const OTHER = `${SECRET}-2`;
  const find = (tokens: Tokens, token: string) => tokens.find(`Bearer ${token}`);

  /** How often the first token was revoked by the second list. */
  function revokedBy(scopes: string[], next: object[]): number {
    const tokens = new Tokens(read([{ token: SECRET, scopes }]));
    let times = 0;
    find(tokens, SECRET)?.revocation.onRevoked(() => {
      times += 1;
    });
    tokens.replace(read(next));
    return times;
  }

  it('is the only one that counts from then on', () => {
    const tokens = new Tokens(read([{ token: SECRET, scopes: ['*'] }]));
    tokens.replace(read([{ token: OTHER, scopes: ['v1:read'] }]));
    expect(find(tokens, SECRET)).toBeNull();
    expect(find(tokens, OTHER)).toMatchObject({ granted: ['v1:read'] });
  });

  it.each<[string, string[], object[], number]>([
    ['dropped', ['*'], [{ token: OTHER, scopes: ['*'] }], 1],
    ['left with fewer scopes', ['v1:admin'], [{ token: SECRET, scopes: ['v1:read'] }], 1],
    ['kept', ['v1:read'], [{ token: SECRET, scopes: ['v1:read'], name: 'renamed' }], 0],
    ['kept as a hash', ['v1:read'], [{ token: hashed(SECRET), scopes: ['v1:read'] }], 0],
    ['given more scopes', ['v1:read'], [{ token: SECRET, scopes: ['*'] }], 0],
  ])('revokes a token that is %s as often as it should', (_, scopes, next, times) => {
    expect(revokedBy(scopes, next)).toBe(times);
  });

  it('revokes what a list before the last one had kept', () => {
    const tokens = new Tokens(read([{ token: SECRET, scopes: ['v1:read'] }]));
    let isRevoked = false;
    find(tokens, SECRET)?.revocation.onRevoked(() => {
      isRevoked = true;
    });
    tokens.replace(read([{ token: SECRET, scopes: ['*'] }]));
    expect(isRevoked).toBe(false);
    tokens.replace(read([{ token: OTHER, scopes: ['*'] }]));
    expect(isRevoked).toBe(true);
  });

  it('tells at once those who come too late', () => {
    const tokens = new Tokens(read([{ token: SECRET, scopes: ['*'] }]));
    const caller = find(tokens, SECRET)!;
    tokens.replace(read([{ token: OTHER, scopes: ['*'] }]));
    let isRevoked = false;
    caller.revocation.onRevoked(() => {
      isRevoked = true;
    });
    expect(isRevoked).toBe(true);
  });
});
