/**
 * A signal of ours for each signal of a user. Many calls may hang on one signal, say that of a shutdown, and a listener
 * for each would make Node warn of a leak; the user's gets one, and on ours there may be as many as there are calls.
 */
import { setMaxListeners } from 'node:events';

const relays = new WeakMap<AbortSignal, AbortSignal>();

/** Aborts when the user's does, for the same reason. */
export function relayed(signal: AbortSignal): AbortSignal {
  let relay = relays.get(signal);
  if (relay === undefined) {
    const controller = new AbortController();
    relay = controller.signal;
    setMaxListeners(0, relay);
    relays.set(signal, relay);
    signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
  }
  return relay;
}
