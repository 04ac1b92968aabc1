// A process that runs plans for its parent, one at a time. The deliberate bug, if any, is given at its start.
import { register } from 'node:module';
import process from 'node:process';

const edits = JSON.parse(process.env.LEASEHOLD_SIMULATION_EDITS ?? '[]');
register('./typescript-hooks.mjs', import.meta.url, { data: { edits } });

const { runPlan } = await import('./run-plan.ts');
process.on('message', async (job) => {
  process.send(await runPlan(job));
});
process.on('disconnect', () => process.exit(0));
process.send('ready');
