/**
 * One measurement in a process of its own: the client of one peer. It is told what to do in one message, starts the peer
 * on an empty directory, takes the measurement, answers with one message and stops what it started. When the runner goes
 * away, it ends itself and its servers, which are in its process group.
 */
import process from 'node:process';
import { measure } from './measure.mjs';

process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
process.once('message', (spec) => void answer(spec));

async function answer(spec) {
  try {
    const { peer } = await import(`./drivers/${spec.driver}.mjs`);
    const variant = peer.variants.find(({ name }) => name === spec.variant);
    const started = await peer.start({ ...spec, variant });
    const figures = await measure[spec.work](started, spec);
    process.send({ figures }, () => void leave(started));
  } catch (fault) {
    process.send({ fault: fault instanceof Error ? fault.stack : String(fault) }, () => process.exit(1));
  }
}

async function leave(started) {
  await started.stop();
  process.exit(0);
}
