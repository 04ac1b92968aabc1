/**
 * SIGTERM, shared by everything that shuts down gracefully. While there is a listener, the signal does not end the
 * process; when the last one is removed, it does again. So listeners must be removed when their work is done.
 */
const calls = new Set<() => void>();

function terminate(): void {
  for (const call of [...calls]) call();
}

/** Calls back at every SIGTERM. Returns the function that removes the listener. */
export function onTerminate(call: () => void): () => void {
  // A new function: two listeners may pass the same one.
  const mine = (): void => call();
  if (calls.size === 0) process.on('SIGTERM', terminate);
  calls.add(mine);
  return () => {
    calls.delete(mine);
    if (calls.size === 0) process.off('SIGTERM', terminate);
  };
}
