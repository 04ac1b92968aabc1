/**
 * Starts a worker and connects what may end it: the caller's signal, the closing of the handle, and process signals.
 */
import { AbortWatch } from './abort-watch.ts';
import { handleClosed } from './closed.ts';
import type { Transport } from './transport.ts';
import { RunningWorker } from './worker.ts';
import { type Job, settingsOf, type WorkerOptions } from './worker-options.ts';
import type { ClientWorld } from './world.ts';

export function startWorker(
  transport: Transport,
  world: ClientWorld,
  closing: AbortSignal,
  options: WorkerOptions,
  jobs: readonly Job[],
): RunningWorker {
  const settings = settingsOf(options, jobs, world);
  if (closing.aborted) throw handleClosed();
  const worker = new RunningWorker(transport, world, settings);
  // Callers that need the outcome await `done`, which is the same promise.
  const drain = (): void => void worker.drain();
  listen(worker, closing, () => worker.abandon());
  if (options.signal !== undefined) listen(worker, options.signal, drain);
  for (const signal of settings.drainOn) {
    const unhook = world.onSignal?.(signal, drain);
    if (unhook !== undefined) worker.whenEnded(unhook);
  }
  return worker.start();
}

/** One listener per signal, however many workers use it. */
const watch = new AbortWatch();

function listen(worker: RunningWorker, signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call();
  else worker.whenEnded(watch.watch(signal, call));
}
