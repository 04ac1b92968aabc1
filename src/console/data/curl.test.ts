// Copy-as-curl: a shell runs what was meant, and nothing else.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { Json } from '../../browser.ts';
import { curlOf, quoted } from './curl.ts';

const ODD = [
  "it's",
  '$(touch /tmp/x)',
  '`id`',
  '"',
  '\\',
  '!x',
  '$HOME',
  '<script>',
  'a\nb',
  '\u202e',
  "'''",
  '%s',
];

describe('quoting for a shell', () => {
  it.each(ODD)('gives %j back as one argument', (text) => {
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${quoted(text)}`], { encoding: 'utf8' });
    expect(stdout).toBe(text);
  });
});

describe('a call as curl', () => {
  const target = { server: 'https://host/leasehold/', hasToken: true };

  it('names the token and never shows it', () => {
    expect(curlOf('lease.get', { name: 'a/b c' }, target)).toBe(
      `curl -sS -H "authorization: Bearer $LEASEHOLD_TOKEN" 'https://host/leasehold/v1/leases/a%2Fb%20c'`,
    );
  });

  it('sends the fields that are not in the path, quoted', () => {
    const text = curlOf('lease.break', { name: 'n', reason: "it's $(id)" }, { ...target, hasToken: false });
    expect(text).toBe(
      `curl -sS -X POST -H 'content-type: application/json' --data-raw '{"reason":"it'\\''s $(id)"}' 'https://host/leasehold/v1/leases/n/break'`,
    );
  });

  it('sends a payload as it was written', () => {
    const payload = Json.text('{"n":9007199254740993}');
    expect(curlOf('task.create', { payload }, { server: 'http://h/', hasToken: false })).toContain(
      `--data-raw '{"payload":{"n":9007199254740993}}'`,
    );
  });

  it('puts the filters of a question into its query', () => {
    expect(curlOf('task.list', { queue: 'a&b', limit: 50 }, { server: 'http://h/', hasToken: false })).toBe(
      "curl -sS 'http://h/v1/tasks?queue=a%26b&limit=50'",
    );
  });
});
