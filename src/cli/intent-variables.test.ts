// The environment of intents: our own names, and those of older installations after them.
import { describe, expect, it } from 'vitest';
import { readIntents, warnOfShortSecrets } from './intent-variables.ts';

function warnings(env: Record<string, string>): string[] {
  const said: string[] = [];
  warnOfShortSecrets(env, { warn: (_, says) => void said.push(says) });
  return said;
}

describe('the variables of intents', () => {
  it('need not be set', () => {
    expect(readIntents({})).toEqual({ takeLeases: false });
  });

  it.each([
    ['our own', 'LEASEHOLD_IDEM_SECRET', 'LEASEHOLD_API_LEASES'],
    ['older ones', 'XG2G_IDEM_SECRET', 'XG2G_V3_API_LEASES'],
  ])('are read by %s names', (_, secret, leases) => {
    const env = { [secret]: 'one', [`${secret}_PREVIOUS`]: 'two', [leases]: 'On' };
    expect(readIntents(env)).toEqual({ secret: 'one', previousSecret: 'two', takeLeases: true });
  });

  it('count by our own names where both are set, unless ours are empty', () => {
    const older = { XG2G_IDEM_SECRET: 'older', XG2G_V3_API_LEASES: 'on' };
    expect(readIntents({ ...older, LEASEHOLD_IDEM_SECRET: 'ours', LEASEHOLD_API_LEASES: '0' })).toEqual({
      secret: 'ours',
      takeLeases: false,
    });
    expect(readIntents({ ...older, LEASEHOLD_IDEM_SECRET: '', LEASEHOLD_API_LEASES: '' })).toEqual({
      secret: 'older',
      takeLeases: true,
    });
  });

  it.each(['LEASEHOLD_API_LEASES', 'XG2G_V3_API_LEASES'])('name the one that is misspelt: %s', (name) => {
    expect(() => readIntents({ [name]: 'perhaps' })).toThrow(new RegExp(`^${name} is "perhaps"`));
  });

  it.each([
    'LEASEHOLD_IDEM_SECRET',
    'LEASEHOLD_IDEM_SECRET_PREVIOUS',
    'XG2G_IDEM_SECRET',
    'XG2G_IDEM_SECRET_PREVIOUS',
  ])('are warned of when a secret has less than 16 bytes: %s', (name) => {
    expect(warnings({ [name]: `${'ü'.repeat(7)}x` })).toEqual([
      `${name} has less than 16 bytes and could be guessed`,
    ]);
    expect(warnings({ [name]: 'ü'.repeat(8) })).toEqual([]);
  });
});
