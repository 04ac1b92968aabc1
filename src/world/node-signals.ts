/**
 * SIGTERM and SIGINT, shared by whatever wants to end in order. While anything listens, the signal no longer ends the
 * process; when the last has stopped listening it does again. So everything that listens must stop once it is done, and
 * then the process ends by itself if nothing else keeps it. SIGINT is told once: a second Ctrl-C ends the process.
 */
import type { DrainSignal } from '../client/world.ts';

const calls: Readonly<Record<DrainSignal, Set<() => void>>> = { SIGTERM: new Set(), SIGINT: new Set() };

const listeners: Readonly<Record<DrainSignal, () => void>> = {
  SIGTERM: () => tell('SIGTERM'),
  SIGINT: () => {
    process.off('SIGINT', listeners.SIGINT);
    tell('SIGINT');
  },
};

function tell(signal: DrainSignal): void {
  for (const call of [...calls[signal]]) call();
}

/** Calls at the signal; gives the call that takes it back. */
export function onSignal(signal: DrainSignal, call: () => void): () => void {
  // A function of its own: two may well hand in the same one.
  const mine = (): void => call();
  if (calls[signal].size === 0) process.on(signal, listeners[signal]);
  calls[signal].add(mine);
  return () => {
    calls[signal].delete(mine);
    if (calls[signal].size === 0) process.off(signal, listeners[signal]);
  };
}
