// Options of `up` and `serve` from the environment, as a systemd unit or a container gives them.
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { type ServeFlags, withServeOptions } from './serve.ts';
import type { Shell } from './shell.ts';

async function flagsOf(env: Record<string, string>, ...args: string[]): Promise<ServeFlags> {
  let given: ServeFlags | undefined;
  const command = withServeOptions(new Command('serve'), { env } as unknown as Shell);
  await command
    .action((flags: ServeFlags) => {
      given = flags;
    })
    .parseAsync(args, { from: 'user' });
  return given!;
}

describe('a variable of serve', () => {
  it('gives paths, durations, numbers, sizes, lists and switches', async () => {
    const env = {
      LEASEHOLD_TLS_CERT: '/etc/leasehold/cert.pem',
      LEASEHOLD_TLS_KEY: '/etc/leasehold/key.pem',
      LEASEHOLD_ALLOW_NET: '10.0.0.0/8, 192.168.0.0/16',
      LEASEHOLD_TRUSTED_PROXY: '10.0.0.1/32',
      LEASEHOLD_BASE_PATH: '/leasehold',
      LEASEHOLD_HIDE_PAYLOADS: 'on',
      LEASEHOLD_HISTORY: '7d',
      LEASEHOLD_HISTORY_MAX: '2GB',
      LEASEHOLD_KEEP_COMPLETED: '36h',
      LEASEHOLD_KEEP_COMPLETED_MAX: '3000000',
      LEASEHOLD_LOG_LEVEL: 'warn',
    };
    expect(await flagsOf(env)).toEqual({
      tlsCert: '/etc/leasehold/cert.pem',
      tlsKey: '/etc/leasehold/key.pem',
      allowNet: ['10.0.0.0/8', '192.168.0.0/16'],
      trustedProxy: ['10.0.0.1/32'],
      basePath: '/leasehold',
      hidePayloads: true,
      history: 7 * 86_400_000,
      historyMax: 2_000_000_000,
      keepCompleted: 36 * 3_600_000,
      keepCompletedMax: 3_000_000,
      logLevel: 'warn',
    });
  });

  it('gives way to the flag, and counts as not set when it is empty', async () => {
    const env = { LEASEHOLD_HISTORY: '7d', LEASEHOLD_ALLOW_NET: '', LEASEHOLD_HIDE_PAYLOADS: '0' };
    expect(await flagsOf(env, '--history', '1d')).toEqual({
      history: 86_400_000,
      hidePayloads: false,
      logLevel: 'info',
    });
  });

  it.each([
    { LEASEHOLD_HISTORY: '7' },
    { LEASEHOLD_HIDE_PAYLOADS: 'maybe' },
    { LEASEHOLD_LOG_LEVEL: 'loud' },
    { LEASEHOLD_KEEP_FAILED_MAX: 'many' },
  ])('is wrong usage when it is malformed: %j', async (env) => {
    await expect(flagsOf(env)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(Object.keys(env)[0]!),
    });
  });
});
