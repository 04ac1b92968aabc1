/**
 * The product's own orchestrator, supervised: it is restarted whenever it ends, until it is not needed. Several of
 * them want the same guard, some on one machine. Sometimes an orchestrator that lost its guard has requests in flight
 * that arrive much later, as from a proxy that delayed them; they must have no effect.
 */
import type { Leasehold } from '../../../src/client/leasehold.ts';
import type { Requests } from '../../../src/operations/table.ts';
import { type OrchestratorConfig, readConfig } from '../../../src/sessions/config.ts';
import { KeptPipelines } from '../../../src/sessions/kept-pipelines.ts';
import { Orchestrator } from '../../../src/sessions/orchestrator.ts';
import { type Timing, wrongTiming } from '../../../src/sessions/timing.ts';
import type { OrchestratorWorld } from '../../../src/sessions/world.ts';
import type { ClientProgram } from '../world/client-program.ts';
import type { Random } from '../world/random.ts';
import { never, SimProcess } from '../world/sim-process.ts';
import { type Commission, processesFor } from '../world/sim-programs.ts';
import { GUARD } from './shared-names.ts';

export const SLOTS = ['0', '1', '2'] as const;
const NEEDED_LOOK_MS = 500;
const NO_FILES = { list: async () => [], remove: async () => undefined };

export async function orchestrators(program: ClientProgram): Promise<void> {
  const { node, process, random } = program;
  program.doing('orchestrating');
  const client = node.connect(process, { retry: { tries: 1 } });
  const spied = spyOn(client);
  const timing = timingFrom(random);
  const orchestrator = new Orchestrator(worldOf(program, spied.client), {
    config: configFrom(random),
    timing,
  });
  const look = (): void => {
    if (!program.isQuiet || node.isNeeded()) process.timers.after(NEEDED_LOOK_MS, look);
    else orchestrator.shutdown();
  };
  look();
  endOnPurpose(program, orchestrator);
  const { code } = await orchestrator.run();
  if (process.isDead) return never();
  if (program.isQuiet && !node.isNeeded()) return client.close();
  if (code === 4 && random.chance(0.5)) sendLate(program, spied, timing);
  node.kill(random.magnitude(50, 3_000), false, `exit code ${code}`);
  return never();
}

/** An operator asks it to end now and then, in order, or kills it and starts it again at once. */
function endOnPurpose({ node, process, random, isQuiet }: ClientProgram, orchestrator: Orchestrator): void {
  const afterMs = random.magnitude(500, 40_000);
  const downMs = random.magnitude(10, 1_000);
  if (random.chance(0.15)) process.timers.after(afterMs, () => orchestrator.shutdown());
  else if (random.chance(0.3) && !isQuiet) {
    process.timers.after(afterMs, () => {
      if (!node.isQuiet) node.kill(downMs, false, 'on purpose');
    });
  }
}

function timingFrom(random: Random): Timing {
  const guardTtlMs = random.pick([1_500, 3_000, 6_000, 15_000]);
  const heartbeatMs = Math.floor(guardTtlMs / random.pick([3, 4, 6]));
  const leaseTtlMs = Math.ceil(heartbeatMs * random.span(3, 10));
  const timing = { guardTtlMs, heartbeatMs, leaseTtlMs, graceMs: Math.floor(random.magnitude(200, 5_000)) };
  const wrong = wrongTiming(timing);
  if (wrong !== null) throw new Error(wrong);
  return timing;
}

function configFrom(random: Random): OrchestratorConfig {
  const command = ['play', '{serviceRef}'];
  const profiles = { plain: { command }, slow: { command, ready: { stdout: '^go$' } } };
  const idle = random.chance(0.6) ? { session_idle_ms: random.between(2_000, 15_000) } : {};
  return readConfig(JSON.stringify({ tuners: SLOTS, profiles, ...idle }));
}

function worldOf(
  { node, process, recorder, client: name }: ClientProgram,
  client: OrchestratorWorld['client'],
): OrchestratorWorld {
  const { clock, timers, newToken } = process;
  const commission: Commission = { guardSeq: 0 };
  const guard = { client: name, holder: '', leaseSeq: 0 };
  const processes = processesFor(node.machine, name, process, commission);
  const processTable = node.machine.tableFor(process);
  return {
    clock,
    timers,
    newToken,
    client,
    processTable,
    pipelines: new KeptPipelines(
      { clock, timers, processes, processTable, files: NO_FILES, env: {} },
      '/logs',
    ),
    say: (_level, event, fields = {}) => {
      if (event === 'the guard is held') {
        guard.holder = String(fields.holder);
        guard.leaseSeq = Number(fields.lease_seq);
        commission.guardSeq = guard.leaseSeq;
        recorder.note({ kind: 'guard', is: 'held', ...guard });
      } else if (event === 'the guard is lost') recorder.note({ kind: 'guard', is: 'lost', ...guard });
    },
  };
}

type Claim = { readonly name: string; readonly holder: string; readonly token: string };

interface Spied {
  readonly client: OrchestratorWorld['client'];
  readonly seen: {
    guard: Claim | null;
    sessions: string[];
    starts: Requests['session.start'][];
  };
}

/** The client itself, with an eye on what it is asked for. */
function spyOn(client: Leasehold): Spied {
  const seen: Spied['seen'] = { guard: null, sessions: [], starts: [] };
  return {
    seen,
    client: {
      call: (operation, request, options) => {
        const asked = request as Partial<Requests['lease.wipe'] & Requests['session.start']>;
        if (operation === 'lease.wipe') seen.guard = asked.guard!;
        if (operation === 'session.start') {
          seen.sessions = [...seen.sessions, asked.session_id!].slice(-4);
          seen.starts = [...seen.starts, asked as Requests['session.start']].slice(-2);
        }
        return client.call(operation, request, options);
      },
      whoami: () => client.whoami(),
      follow: (options) => client.follow(options),
    },
  };
}

/** What a deposed orchestrator might have sent, some time after it has ended. */
function sendLate(
  { node, process, random, bear }: ClientProgram,
  { seen }: Spied,
  { guardTtlMs, leaseTtlMs }: Timing,
): void {
  const { guard } = seen;
  if (guard === null) return;
  const proxy = new SimProcess(process.kernel, `${process.name}-late`, process.clock, random);
  const late = node.connect(proxy, { retry: { tries: 1 } });
  const send = (call: () => Promise<unknown>): void => {
    process.kernel.after(random.span(0, 3 * guardTtlMs), proxy, () => void bear(call));
  };
  const ttl_ms = leaseTtlMs;
  for (const session_id of seen.sessions) {
    const event = random.pick(['ready', 'stopped', 'process_ended', 'start_failed', 'shutdown'] as const);
    send(() => late.call('session.change', { session_id, guard, event }));
    send(() => late.call('session.renew', { guard, session_ids: [session_id], ttl_ms }));
  }
  for (const start of seen.starts) send(() => late.call('session.start', start));
  const queues = ['system:session-starts'];
  send(() => late.call('task.lease', { worker_id: guard.holder, queues, max: 4, ttl_ms, guard }));
  send(() => late.call('lease.wipe', { prefix: 'lease:', guard }));
  send(() => late.call('lease.renew', { name: GUARD, holder: guard.holder, token: guard.token, ttl_ms }));
}
