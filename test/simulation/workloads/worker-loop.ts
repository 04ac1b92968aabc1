/**
 * The client's own worker: it leases, renews, runs handlers and reports, and every task that was enqueued comes to an end.
 * Handlers succeed, fail, take longer than their lease, and rely on `assertHeld` for what only one may do.
 */
import { defineTask } from '../../../src/client/define-task.ts';
import type { TaskContext } from '../../../src/client/task-context.ts';
import { HandBack, NoRetry } from '../../../src/client/task-errors.ts';
import type { Worker } from '../../../src/client/worker.ts';
import type { ClientProgram } from '../world/client-program.ts';

const job = defineTask<{ by: string }, { by: string }>('kept', {
  retry: { maxFailures: 4, backoff: 100 },
});

export async function workerLoop(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  const options = {
    concurrency: random.between(1, 4),
    ttl: random.between(600, 4_000),
    wait: 2_000,
    grace: 500,
  };
  let isDraining = false;
  const start = (): Worker => {
    const started = leasehold.work(job, { ...options, workerId: `${client}-${program.run}` }, (task) =>
      handle(program, task),
    );
    // A worker ends when the server reports a mistake. Its program starts another one.
    void program
      .bear(() => started.done)
      .then(() => {
        if (!isDraining) worker = start();
      });
    return started;
  };
  let worker = start();
  await program.rounds(async () => {
    program.doing('enqueueing');
    const receipt = await leasehold.enqueue(job, { by: client });
    if (random.chance(0.5)) {
      program.doing('waiting for a result');
      await receipt.result();
    } else await program.sleep(10, 500);
  });
  program.doing('draining the worker');
  isDraining = true;
  await program.bear(() => worker.drain());
}

async function handle(program: ClientProgram, task: TaskContext<{ by: string }>): Promise<{ by: string }> {
  const { random, client } = program;
  const handle = program.held(task, { task: task.taskId, holder: client });
  const steps = random.between(1, 4);
  for (let step = 0; step < steps; step++) {
    if (!program.use(handle, task)) throw task.signal.reason ?? new Error('The lease is over.');
    if (random.chance(0.05)) await program.block(random.magnitude(50, 6_000));
    else await program.sleep(1, 600);
  }
  if (random.chance(0.15)) throw new Error('on purpose');
  if (random.chance(0.05)) throw new NoRetry('on purpose, for good');
  if (random.chance(0.05)) throw new HandBack();
  return { by: client };
}
