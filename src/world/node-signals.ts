/**
 * SIGTERM, shared by whoever wants to end in order. While anybody listens, the signal no longer ends the process;
 * when the last one has stopped listening it does again. So everything that listens must stop once it is done,
 * and then the process ends by itself if nothing else keeps it.
 */
const calls = new Set<() => void>();

function terminate(): void {
  for (const call of [...calls]) call();
}

/** Calls at every SIGTERM; gives the call that takes it back. */
export function onTerminate(call: () => void): () => void {
  // A function of its own: two may well hand in the same one.
  const mine = (): void => call();
  if (calls.size === 0) process.on('SIGTERM', terminate);
  calls.add(mine);
  return () => {
    calls.delete(mine);
    if (calls.size === 0) process.off('SIGTERM', terminate);
  };
}
