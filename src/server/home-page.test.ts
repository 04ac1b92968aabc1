// The page at `/`.
import { describe, expect, it } from 'vitest';
import { CHECKS } from '../operations/checks.ts';
import { PAGES } from '../operations/pages.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import { homePage } from './home-page.ts';

const status = OPERATIONS['status.get'].example.reply;
const table = Object.entries({ ...OPERATIONS, ...PAGES });

/** Which line of the table a method and a path mean. */
function lineOf(method: string, path: string): string | undefined {
  const [found] = table.filter(
    (line) =>
      line[1].method === method && new RegExp(`^${line[1].path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return found?.[0];
}

describe('the page of the server', () => {
  it('shows the state it is given', () => {
    const page = homePage(status);
    for (const part of [
      'leader',
      '54, in epoch 3',
      status.last_commit,
      '9216 bytes',
      'has room',
      'not held',
    ]) {
      expect(page).toContain(part);
    }
    expect(page).toContain('3 waiting, 1 leased, 120 completed, 0 failed, 0 dead');
    expect(page).toContain('1 live, 2 names known');
  });

  it('says so when the disk is full', () => {
    expect(homePage({ ...status, disk_full: true })).toContain('full: nothing new is taken');
  });

  it('tells nothing of the state without one', () => {
    const page = homePage(null);
    expect(page).toContain('callers with a token');
    expect(page).not.toContain('leader');
    expect(page).not.toContain('epoch');
  });

  it('shows what others have named as text', () => {
    const page = homePage({ ...status, guard_holder: `<script>alert("x" + 'y')</script>&` });
    expect(page).not.toContain('<script');
    expect(page).toContain('&lt;script&gt;alert(&quot;x&quot; + &#39;y&#39;)&lt;/script&gt;&amp;');
  });

  it.each([null, status])('needs nothing from anywhere', (body) => {
    const page = homePage(body);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page).not.toMatch(/<script|<img|<link|@import|url\(|\son\w+=/i);
  });

  it('points only to places that exist', () => {
    const places = [...homePage(null).matchAll(/href="([^"]+)"/g)].map(([, path]) => path!);
    expect(places.length).toBeGreaterThan(3);
    expect(places.filter((path) => lineOf('GET', path) === undefined)).toEqual([]);
  });

  it('shows calls with curl that are accepted', () => {
    const text = homePage(null).replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
    const calls = [...text.matchAll(/^curl (?:--json '(.*)' )?(?:-N )?"?\$LEASEHOLD_URL([^\s"?]+)/gm)];
    expect(calls.map(([, body, path]) => lineOf(body === undefined ? 'GET' : 'POST', path!))).toEqual([
      'task.create',
      'task.lease',
      'lease.acquire',
      'lease.get',
      'log',
    ]);
    for (const [, body, path] of calls) {
      if (body === undefined) continue;
      const operation = lineOf('POST', path!) as Operation;
      const name = operation === 'lease.acquire' ? { name: 'nightly-report' } : {};
      expect(CHECKS[operation].accepts({ ...(JSON.parse(body) as object), ...name })).toBe(true);
    }
  });
});
