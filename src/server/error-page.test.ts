// The pages about refusals.
import { describe, expect, it } from 'vitest';
import { REFUSALS, type RefusalCode } from '../core/refusals.ts';
import { EXPLANATIONS } from '../protocol/explanations.ts';
import { errorPage } from './error-page.ts';

/** What a reader sees. */
const shown = (html: string): string =>
  html
    .replace(/<style>[\s\S]*<\/style>/, '')
    .replaceAll(/<\/(?:p|h\d|th|td|tr)>/g, '\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

describe('the page about a code', () => {
  it.each(Object.entries(REFUSALS))('says of %s what the tables say', (code, { says, status }) => {
    const text = shown(errorPage(code)!);
    const { when, todo } = EXPLANATIONS[code as RefusalCode];
    for (const part of [code, says, String(status), when.replaceAll('`', ''), todo.replaceAll('`', '')]) {
      expect(text).toContain(part);
    }
  });

  it.each([
    ['WRITE_STALE_FENCE', 'Never'],
    ['LEASE_HELD', 'Later'],
    ['OVERLOADED', 'Soon'],
  ])('says whether a call refused with %s can succeed: %s', (code, word) => {
    expect(shown(errorPage(code)!)).toContain(`${word}: `);
  });

  it.each(['NO_SUCH_CODE', '', 'lease_held', '__proto__', 'constructor', 'toString', '<script>'])(
    'is none for %j',
    (code) => {
      expect(errorPage(code)).toBeNull();
    },
  );

  it.each(Object.keys(REFUSALS))('of %s is whole and needs nothing from anywhere', (code) => {
    const page = errorPage(code)!;
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page).toContain('prefers-color-scheme: dark');
    expect(page).not.toMatch(/<script|<img|<link|@import|url\(|https?:\/\/|\son\w+=/i);
    expect(page).not.toContain('`');
  });
});
