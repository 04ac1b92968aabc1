/** The clocks, timers and randomness of a browser. Nothing here keeps a page alive. */
import type { ClientWorld } from '../client/world.ts';

const TOKEN_BYTES = 18; // 144 bits, and whole base64 quanta

export const webWorld: ClientWorld = {
  clock: {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
  },
  timers: {
    after(ms, call) {
      // A longer timer would fire at once, and no page lives that long.
      const timer = setTimeout(call, Math.min(ms, 2 ** 31 - 1));
      return { cancel: () => clearTimeout(timer) };
    },
    soon(call) {
      setTimeout(call, 0);
    },
    hold: () => ({ cancel: () => undefined }),
  },
  newToken() {
    const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
    return btoa(String.fromCharCode(...bytes))
      .replaceAll('+', '-')
      .replaceAll('/', '_');
  },
};
