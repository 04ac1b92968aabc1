/**
 * One of the two holders in `leasehold demo`, in its own process: takes the lease, then writes and renews in turns,
 * and reports the results on standard output, one JSON object a line. It trusts its lease without reading a
 * clock, as most programs do; the demo shows that the server refuses it.
 */
import { sleep } from '../client/sleep.ts';
import { systemTimers } from '../world/system-clock.ts';
import { realShell } from './real-shell.ts';

/** What a holder reports. */
export type HolderWord =
  | { readonly is: 'granted'; readonly leaseSeq: number }
  | { readonly is: 'wrote'; readonly leaseSeq: number; readonly version: number; readonly value: string }
  | { readonly is: 'refused'; readonly leaseSeq: number; readonly code: string; readonly fence: number };

async function main(url: string, name: string, holder: string, ttlMs: number): Promise<void> {
  const lh = await realShell().connect({ url, token: null });
  const grant = await lh.call('lease.acquire', { name, holder, ttl_ms: ttlMs, wait_ms: 60_000 });
  if (!grant.ok) throw new Error(grant.detail);
  const { lease_seq, token } = grant;
  say({ is: 'granted', leaseSeq: lease_seq });
  for (let count = 1; ; count++) {
    const value = `${holder} was here, ${count}`;
    const written = await lh.call('object.write', { object_id: name, value, lease: { lease_seq } });
    if (!written.ok) {
      say({ is: 'refused', leaseSeq: lease_seq, code: written.code, fence: written.current_fence ?? 0 });
      break;
    }
    say({ is: 'wrote', leaseSeq: lease_seq, version: written.version, value });
    await lh.call('lease.renew', { name, holder, token, ttl_ms: ttlMs });
    await sleep(systemTimers, ttlMs / 4);
  }
  await lh.close();
}

function say(word: HolderWord): void {
  process.stdout.write(`${JSON.stringify(word)}\n`);
}

const [url = '', name = '', holder = '', ttlMs = ''] = process.argv.slice(2);
main(url, name, holder, Number(ttlMs)).catch((fault: unknown) => {
  console.error(fault instanceof Error ? fault.message : String(fault));
  process.exitCode = 1;
});
