/** etcd, a single member: a lease is granted, the name is created under it if absent, and the lease is revoked. */
import { freePort, serverProcess } from '../server-process.mjs';

const CHANNELS_MAX = 4;
const TTL_SECONDS = 30;

export const peer = {
  name: 'etcd',
  kinds: ['lock'],
  needs: { commands: ['etcd'], packages: ['etcd3'] },
  variants: [{ name: 'grant, create, revoke', durable: 'yes' }],
  async start({ dir, width }) {
    const { Etcd3 } = await import('etcd3');
    const client = `http://127.0.0.1:${await freePort()}`;
    const own = `http://127.0.0.1:${await freePort()}`;
    const flags = {
      'data-dir': 'data',
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': own,
      'initial-advertise-peer-urls': own,
      'initial-cluster': `default=${own}`,
      'log-level': 'error',
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const ready = async () => {
      if (!(await fetch(`${client}/health`)).ok) throw new Error('It is not healthy.');
    };
    const server = await serverProcess('etcd', args, { dir, ready });
    const channels = Array.from(
      { length: Math.min(width, CHANNELS_MAX) },
      () => new Etcd3({ hosts: client }),
    );
    const channelOf = (lane) => channels[lane % channels.length];
    const create = async (channel, key, lease) => {
      const absent = { key, result: 'Equal', target: 'Create', create_revision: 0 };
      const put = { request_put: { key, value: Buffer.from('held'), lease } };
      return (await channel.kv.txn({ compare: [absent], success: [put], failure: [] })).succeeded;
    };
    return {
      pids: [server.pid],
      async stop() {
        for (const channel of channels) channel.close();
        await server.stop();
      },
      async acquire(name, { lane }) {
        const channel = channelOf(lane);
        const { ID } = await channel.leaseClient.leaseGrant({ TTL: TTL_SECONDS });
        while (!(await create(channel, Buffer.from(name), ID))) {
          await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4));
        }
        return { channel, ID };
      },
      release: ({ channel, ID }) => channel.leaseClient.leaseRevoke({ ID }),
      async renewable(name, lane) {
        const channel = channelOf(lane);
        const { ID } = await channel.leaseClient.leaseGrant({ TTL: 20 * TTL_SECONDS });
        await create(channel, Buffer.from(name), ID);
        channel.keepAlive ??= openKeepAlive(channel);
        const keepAlive = await channel.keepAlive;
        return () => keepAlive(ID);
      },
    };
  },
};

/** One stream of renewals for a channel; its answers name the lease. */
async function openKeepAlive(channel) {
  const stream = await channel.leaseClient.leaseKeepAlive();
  const waiting = new Map();
  stream.on('data', ({ ID }) => {
    waiting.get(ID)?.resolve();
    waiting.delete(ID);
  });
  stream.on('error', (fault) => {
    for (const { reject } of waiting.values()) reject(fault);
  });
  return (ID) =>
    new Promise((resolve, reject) => {
      waiting.set(ID, { resolve, reject });
      stream.write({ ID });
    });
}
