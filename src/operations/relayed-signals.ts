/**
 * One relay for each signal of a caller. Many calls may share one signal, such as that of a shutdown, and a listener for
 * each would make Node warn of a leak. The caller's signal gets one listener; the relay may have any number.
 */
import { setMaxListeners } from 'node:events';

const relays = new WeakMap<AbortSignal, AbortSignal>();

/** Aborts when the caller's signal does, with the same reason. */
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
