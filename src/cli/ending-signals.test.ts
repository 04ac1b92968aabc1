// One Ctrl-C and two of them, as programs hear them that were started by npm.
import { beforeEach, describe, expect, it } from 'vitest';
import type { SignalName } from '../seams/processes.ts';
import {
  hurriedInterrupts,
  onEndingSignals,
  onRepeatedSignals,
  type SignalledWorld,
} from './ending-signals.ts';

let nowMs: number;
let heard: string[];
let world: SignalledWorld;
let send: (signal: SignalName) => void;

beforeEach(() => {
  nowMs = 0;
  heard = [];
  const processes = {
    onSignals: (signals: readonly SignalName[], call: (signal: SignalName) => void) => {
      // A signal without a listener never arrives.
      send = (signal) => (signals.includes(signal) ? call(signal) : undefined);
      return () => undefined;
    },
  };
  world = {
    clock: { monotonicMs: () => nowMs },
    processes,
    ending: { endProcess: (code, says) => heard.push(`${code}, saying ${says}`) },
  };
  onRepeatedSignals(world, {
    asked: () => heard.push('asked'),
    hurried: (signal) => heard.push(`hurried by ${signal}`),
  });
});

describe('a signal to end', () => {
  it.each([
    ['SIGINT', 'npm passes on the Ctrl-C of the terminal'],
    ['SIGTERM', 'timeout signals its command and the group'],
    ['SIGHUP', 'a shell and its terminal both send it'],
  ] as const)('asks, and the same %s once more is no second one: %s', (signal, _) => {
    send(signal);
    nowMs = 199;
    send(signal);
    expect(heard).toEqual(['asked']);
  });

  it('hurries when Ctrl-C is pressed again', () => {
    send('SIGINT');
    nowMs = 50;
    send('SIGINT');
    nowMs = 200;
    send('SIGINT');
    expect(heard).toEqual(['asked', 'hurried by SIGINT']);
  });

  it.each([
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGTERM', 'SIGHUP'],
  ] as const)('hurries at once when %s is followed by %s, which no program does', (first, second) => {
    send(first);
    send(second);
    expect(heard).toEqual(['asked', `hurried by ${second}`]);
  });

  it.each([
    [{}, 'leasehold: Ended at once.'],
    [{ json: true }, '{"code":"INTERRUPTED","message":"Ended at once.","exit_code":143}'],
  ])('ends the process at once when it is repeated, with %j', (options, says) => {
    onEndingSignals(world, options, {
      asked: () => heard.push('asked'),
      hurried: () => heard.push('hurried'),
    });
    send('SIGTERM');
    nowMs = 200;
    send('SIGTERM');
    expect(heard).toEqual(['asked', 'hurried', `143, saying ${says}`]);
  });
});

describe('a Ctrl-C for the program of `run`', () => {
  it('asks for an end at once when it soon follows another, and not when npm passes it on', () => {
    const isHurried = hurriedInterrupts(world.clock);
    const at = (ms: number, signal: SignalName = 'SIGINT'): boolean => {
      nowMs = ms;
      return isHurried(signal);
    };
    expect([at(0), at(199), at(200), at(10_000), at(10_100), at(15_001)]).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ]);
    expect(at(15_300, 'SIGTERM')).toBe(false);
    expect(at(15_300)).toBe(true);
  });
});
