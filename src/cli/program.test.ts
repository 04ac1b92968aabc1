// The program as a whole: its commands, its help, and completion made from them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';
import { placesOf } from './completion.ts';
import { makeProgram } from './program.ts';
import { VERSION } from './version.ts';

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
});

/** Every command that does something, by the words that lead to it. */
function leaves(command: Command, path: readonly string[] = []): [string[], Command][] {
  if (command.commands.length === 0) return [[[...path], command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

describe('the list of commands', () => {
  it('says of each what the command says of itself', async () => {
    const whole = await makeProgram(test.shell(), null);
    const listed = await makeProgram(test.shell(), []);
    const says = (program: Command) =>
      program.commands.map((command) => [command.name(), command.description()]);
    expect(says(listed)).toEqual(says(whole));
  });

  it('loads no more than it needs', async () => {
    const program = await makeProgram(test.shell(), ['task']);
    const loaded = program.commands.filter((command) => command.options.length + command.commands.length > 0);
    expect(loaded.map((command) => command.name())).toEqual(['task']);
  });
});

describe('every command', () => {
  it('has --json and help with an example', async () => {
    for (const [path, command] of leaves(await makeProgram(test.shell(), null))) {
      const longs = command.options.map(({ long }) => long);
      expect(longs, path.join(' ')).toContain('--json');
      const { code, out } = await test.run(...path, '--help');
      expect(code, path.join(' ')).toBe(0);
      expect(out).toMatch(/^Usage: leasehold /);
      // The commands of `wal` are explained in docs/operating.md.
      if (path[0] !== 'wal') expect(out, path.join(' ')).toMatch(/Examples?:\n {2}\S/);
    }
  });

  it('leaves with 2 for options and words it does not know', async () => {
    for (const [path] of leaves(await makeProgram(test.shell(), null))) {
      const run = await test.run(...path, '--no-such-option');
      expect(run, path.join(' ')).toMatchObject({ code: 2, out: '' });
      expect(run.err).toMatch(/^leasehold: /);
    }
    expect(await test.run('nonsense')).toMatchObject({ code: 2, out: '' });
    expect(await test.run('nonsense', '--help')).toMatchObject({ code: 2, out: '' });
    expect(await test.run('task', 'nonsense', '--help')).toMatchObject({ code: 2, out: '' });
    for (const words of [
      ['help', 'nonsense'],
      ['help', 'task', 'nonsense'],
      ['task', 'help', 'nonsense'],
    ]) {
      const err = "leasehold: unknown command 'nonsense'; see --help.\n";
      expect(await test.run(...words), words.join(' ')).toEqual({ code: 2, out: '', err });
    }
    expect((await test.run('task', 'shw', 'x')).err).toBe(
      "leasehold: unknown command 'shw'; did you mean show?\n",
    );
    expect(await test.run('help', 'task')).toMatchObject({ code: 0, err: '' });
    expect(await test.run('help')).toMatchObject({ code: 0, err: '' });
    expect(await test.run('task')).toMatchObject({ code: 2, out: '' });
    expect(await test.run()).toMatchObject({ code: 2, out: '' });
  });

  it.each([
    [
      ['run', 'nightly', 'ls', '-l'],
      "unknown option '-l'; usage: leasehold run [options] <name> -- <command...>",
    ],
    [
      ['run', 'nightly', '--tll', '5s', '--', 'ls'],
      "unknown option '--tll'; did you mean --ttl? usage: leasehold run [options] <name> -- <command...>",
    ],
    [
      ['--json', 'work', 'mail', 'ls', '-l'],
      "unknown option '-l'; usage: leasehold work [options] <queue> -- <command...>",
    ],
    [
      ['run', '--', 'true'],
      "missing required argument 'command'; usage: leasehold run [options] <name> -- <command...>",
    ],
  ])('shows where the program to be run stands: %j', async (args, says) => {
    const { code, err } = await test.run(...args);
    expect([code, err.includes(says)]).toEqual([2, true]);
  });

  it('takes no other word for the program that is run, such as a queue named work', async () => {
    const { code, err } = await test.run('queue', 'limit', 'work', '--max', '3');
    expect([code, err]).toEqual([2, expect.stringMatching(/^leasehold: unknown option '--max'(?!.*usage)/)]);
  });
});

describe('leasehold', () => {
  it('tells its version, which is that of the package', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(VERSION).toBe(manifest.version);
    expect(await test.run('--version')).toMatchObject({ code: 0, out: `${VERSION}\n` });
  });

  it('lists its exit codes in its help', async () => {
    const { out } = await test.run('--help');
    for (const code of [0, 1, 2, 3, 5, 73, 75]) expect(out).toMatch(new RegExp(`^ {2}${code} `, 'm'));
  });
});

describe('completion', () => {
  /** What bash offers at the end of a line. */
  function offered(script: string, ...words: string[]): string[] {
    const bash = `${script}
COMP_WORDS=(leasehold "$@"); COMP_CWORD=$#; _leasehold; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', bash, 'bash', ...words], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').filter(Boolean);
  }

  it('offers in bash what may follow', async () => {
    const { out } = await test.run('completion', 'bash');
    expect(offered(out, 'ta')).toEqual(['task']);
    expect(offered(out, 'task', '')).toEqual([
      'add',
      'ls',
      'show',
      'why',
      'history',
      'requeue',
      'cancel',
      'change',
      'kill',
      'purge',
    ]);
    expect(offered(out, 'task', '-')).toEqual(['--help']);
    expect(offered(out, 'wal', 'verify', '')).toEqual([]);
    expect(offered(out, 'run', 'door', '--', 'prin')).toContain('printf');
    expect(offered(out, 'task', 'ls', '--st')).toEqual(['--state']);
    expect(offered(out, '--server', 'http://x', 'lease', 'acquire', 'door', '--ho')).toEqual(['--holder']);
    expect(offered(out, 'explain', 'WRITE_ST')).toEqual(['WRITE_STALE_FENCE']);
    expect(offered(out, 'completion', 'b')).toEqual(['bash']);
    expect(offered(out, 'run', 'door', '--', 'task', '')).toEqual([]);
    expect(offered(out, 'task', 'ls', '--state', 'W')).toEqual(['WAITING']);
    expect(offered(out, 'serve', '--log-level', '')).toEqual(['debug', 'info', 'warn', 'error', 'silent']);
    expect(offered(out, 'serve', '--data', '')).toEqual([]);
  });

  it('knows every command and option in every shell', async () => {
    const places = placesOf(await makeProgram(test.shell(), null));
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { out } = await test.run('completion', shell);
      for (const { path, words } of places) {
        expect(out).toContain(path);
        for (const { word } of words) expect(out).toContain(word.replace(/^-+/, ''));
      }
    }
  });

  it('is wrong usage for a shell it does not know', async () => {
    expect(await test.run('completion', 'tcsh')).toMatchObject({ code: 2, out: '' });
  });
});
