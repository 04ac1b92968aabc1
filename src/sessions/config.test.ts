// What may stand in the configuration of an orchestrator, and what its commands become.
import { describe, expect, it } from 'vitest';
import { filled, literal, readConfig } from './config.ts';

const PROFILE = { command: ['play', '{serviceRef}'] };

function config(changes: object = {}): string {
  return JSON.stringify({ slots: ['0', '1'], profiles: { low: PROFILE }, ...changes });
}

describe('the configuration', () => {
  it('is taken as it stands when nothing is wrong with it', () => {
    const text = config({
      session_idle_ms: 60_000,
      profiles: { low: { ...PROFILE, ready: { stdout: '^x' } } },
    });
    expect(readConfig(text)).toEqual(JSON.parse(text));
  });

  it('may call its slots tuners, as older files do', () => {
    expect(readConfig(config({ slots: undefined, tuners: ['a'] })).slots).toEqual(['a']);
  });

  it.each<[string, string, RegExp]>([
    ['is no JSON', '{', /is not JSON/],
    ['is no object', '[]', /configuration/],
    ['has an unknown field', config({ seats: [] }), /seats is unknown/],
    ['has no slots', config({ slots: [] }), /slots/],
    ['does not name slots', config({ slots: undefined }), /slots is missing/],
    ['has one slot twice', config({ slots: ['0', '0'] }), /slots/],
    ['has a slot that is no text', config({ slots: [0] }), /slots\.0/],
    ['has slots under both names', config({ tuners: ['0'] }), /mean the same/],
    ['has no profiles', JSON.stringify({ slots: ['0'] }), /profiles/],
    ['has a profile without a command', config({ profiles: { low: {} } }), /command is missing/],
    ['has an empty command', config({ profiles: { low: { command: [] } } }), /command/],
    ['has a command without a program', config({ profiles: { low: { command: [''] } } }), /names no program/],
    [
      'has a profile with a bar',
      config({ profiles: { 'a|b': PROFILE } }),
      /contain a bar; "a\|b" is not valid/,
    ],
    [
      'has a profile without a name',
      config({ profiles: { '': PROFILE } }),
      /not be empty or contain a bar; "" is not valid/,
    ],
    [
      'has an unknown field in a profile',
      config({ profiles: { low: { ...PROFILE, shell: 1 } } }),
      /shell is unknown/,
    ],
    [
      'has a bad pattern',
      config({ profiles: { low: { ...PROFILE, ready: { stdout: '(' } } } }),
      /profile low is not a valid regular expression/,
    ],
    [
      'has an unknown placeholder',
      config({ profiles: { low: { command: ['play', '-i={channel}'] } } }),
      /\{channel\} of the profile low is unknown/,
    ],
    [
      'lets a client choose the program',
      config({ profiles: { low: { command: ['/bin/{serviceRef}'] } } }),
      /program of the profile low/,
    ],
  ])('that %s is refused in a sentence', (_what, text, says) => {
    expect(() => readConfig(text)).toThrow(says);
    expect(() => readConfig(text)).toThrow(/\.$/);
  });
});

describe('a command', () => {
  const FILLING = {
    serviceRef: 'a b; $(rm) {slot}',
    recordingID: '',
    start_ms: '0',
    slot: '1',
    session_id: 's1',
  };

  it('has its placeholders filled, each within its argument and only once', () => {
    const command = ['play', '-i', '{serviceRef}', 'out/{session_id}-{slot}', '{{slot}} {} {1.5}'];
    expect(filled(command, FILLING)).toEqual([
      'play',
      '-i',
      'a b; $(rm) {slot}',
      'out/s1-1',
      '{slot} {} {1.5}',
    ]);
  });

  it('may have text in it that looks like a placeholder and is none', () => {
    expect(filled([literal('/home/{slot}/x')], FILLING)).toEqual(['/home/{slot}/x']);
  });
});
