/**
 * Clients that want to watch something: the same services and others, more of them than there are slots. They ask again,
 * send heartbeats, look, stop, leave, and sometimes break what others rely on. When the faults are over, every session
 * of theirs comes to be ready or to its end, and ends when it is stopped.
 */
import type { ClientProgram } from '../world/client-program.ts';
import { SLOTS } from './orchestrators.ts';
import { GUARD } from './shared-names.ts';

const SERVICES = ['one', 'two', 'three', 'four', 'five', 'six'] as const;

export async function sessions(program: ClientProgram): Promise<void> {
  const { random } = program;
  const own = new Set<string>();
  await program.rounds(async () => {
    const id = await ask(program);
    if (id !== null) {
      own.add(id);
      await watch(program, id);
    }
    if (random.chance(0.12)) await meddle(program);
    await program.sleep(20, 1_500);
  });
  program.doing('waiting until the faults are over');
  while (!program.isQuiet) await program.sleep(500);
  for (const id of own) await settle(program, id);
}

async function ask({ leasehold, random }: ClientProgram): Promise<string | null> {
  const profileID = random.chance(0.05) ? 'unheard of' : random.chance(0.5) ? 'plain' : 'slow';
  const target = random.pick(SERVICES);
  const intent = random.chance(0.8)
    ? ({ type: 'live', serviceRef: target, profileID } as const)
    : ({ type: 'vod', recordingID: target, start_ms: random.below(3) * 1_000, profileID } as const);
  const reply = await leasehold.call('intent.accept', intent);
  return reply.ok ? reply.session_id : null;
}

async function watch(program: ClientProgram, session_id: string): Promise<void> {
  const { leasehold, random } = program;
  program.doing(`watching ${session_id}`);
  for (let looks = random.between(0, 8); looks > 0; looks--) {
    const reply = random.chance(0.5)
      ? await leasehold.call('session.heartbeat', { session_id })
      : await leasehold.call('session.get', { session_id });
    if (!reply.ok) return;
    await program.sleep(50, 1_500);
  }
  if (random.chance(0.15)) await leasehold.call('session.list', { limit: 10 });
  if (random.chance(0.6)) await leasehold.call('session.stop', { session_id });
}

/** An administrator who ends leases in use. */
async function meddle({ leasehold, random }: ClientProgram): Promise<void> {
  const name = random.pick([
    GUARD,
    `lease:tuner:${random.pick(SLOTS)}`,
    `lease:service:${random.pick(SERVICES)}`,
  ]);
  await leasehold.call('lease.break', { name, reason: 'on purpose' });
}

/** Nothing goes wrong any more: it is ready or over soon, and over soon after it was stopped. */
async function settle(program: ClientProgram, session_id: string): Promise<void> {
  for (const [what, isSo] of [
    ['ready or over', (state: string) => state === 'READY' || state === 'STOPPING'],
    ['over', () => false],
  ] as const) {
    program.doing(`waiting for ${session_id} to be ${what}`);
    for (;;) {
      const reply = await program.bear(() => program.leasehold.call('session.get', { session_id }));
      if (reply?.ok === false) return;
      if (reply !== undefined && isSo(reply.state)) break;
      if (what === 'over') await program.bear(() => program.leasehold.call('session.stop', { session_id }));
      await program.sleep(200, 600);
    }
  }
}
