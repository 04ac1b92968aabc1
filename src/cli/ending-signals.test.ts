// One Ctrl-C and two of them, as programs hear them that were started by npm.
import { beforeEach, describe, expect, it } from 'vitest';
import type { SignalName } from '../orchestrator/processes.ts';
import { onEndingSignals } from './ending-signals.ts';

let nowMs: number;
let heard: string[];
let send: (signal: SignalName) => void;
let isListening: boolean;
let unhear: () => void;

beforeEach(() => {
  nowMs = 0;
  heard = [];
  isListening = true;
  const processes = {
    onSignals: (_: readonly SignalName[], call: (signal: SignalName) => void) => {
      send = call;
      return () => {
        isListening = false;
      };
    },
  };
  unhear = onEndingSignals(
    { clock: { monotonicMs: () => nowMs }, processes },
    { asked: () => heard.push('asked'), hurried: (signal) => heard.push(`hurried by ${signal}`) },
  );
});

describe('a signal to end', () => {
  it('asks, and the same Ctrl-C passed on by npm is no second one', () => {
    send('SIGINT');
    nowMs = 1_999;
    send('SIGINT');
    expect(heard).toEqual(['asked']);
  });

  it('hurries when Ctrl-C is pressed again', () => {
    send('SIGINT');
    nowMs = 50;
    send('SIGINT');
    nowMs = 2_000;
    send('SIGINT');
    expect(heard).toEqual(['asked', 'hurried by SIGINT']);
  });

  it.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGHUP', 'SIGHUP'],
  ] as const)('hurries at once when %s is followed by %s, which no terminal does', (first, second) => {
    send(first);
    send(second);
    expect(heard).toEqual(['asked', `hurried by ${second}`]);
  });

  it('is heard until nobody wants to hear it any more', () => {
    unhear();
    expect(isListening).toBe(false);
  });
});
