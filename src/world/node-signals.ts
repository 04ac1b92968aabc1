/**
 * SIGTERM and SIGINT, shared by everything that shuts down gracefully. While there is a listener, the signal does not end
 * the process; when the last one is removed, it does again. So listeners must be removed when their work is done, and
 * then the process ends if nothing else keeps it. SIGINT calls once: a second Ctrl-C ends the process.
 */
import type { DrainSignal } from '../client/world.ts';

const calls: Readonly<Record<DrainSignal, Set<() => void>>> = { SIGTERM: new Set(), SIGINT: new Set() };

const listeners: Readonly<Record<DrainSignal, () => void>> = {
  SIGTERM: () => notify('SIGTERM'),
  SIGINT: () => {
    process.off('SIGINT', listeners.SIGINT);
    notify('SIGINT');
  },
};

function notify(signal: DrainSignal): void {
  for (const call of [...calls[signal]]) call();
}

/** Calls back at the signal. Returns the function that removes the listener. */
export function onSignal(signal: DrainSignal, call: () => void): () => void {
  // A new function: two listeners may pass the same one.
  const mine = (): void => call();
  if (calls[signal].size === 0) process.on(signal, listeners[signal]);
  calls[signal].add(mine);
  return () => {
    calls[signal].delete(mine);
    if (calls[signal].size === 0) process.off(signal, listeners[signal]);
  };
}
