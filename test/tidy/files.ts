// Rules about files as such: their names, their length, how they open, and what their comments may not leave behind.
import type { Rule } from './source.ts';
import { commentsOf, lineOf } from './source.ts';

const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/;

/** A name says what is inside; a drawer for odds and ends says nothing and only ever grows. */
export function nameRule(forbidden: readonly string[]): Rule {
  return ({ path }) =>
    path.split('/').flatMap((part) => {
      const words = part.replace(/\.(ts|tsx|mts|cts|js|mjs|cjs)$/, '').split('.');
      const odd = words
        .filter((word) => !KEBAB_CASE.test(word))
        .map(() => `${path}:1 ${part} is not kebab-case`);
      const empty = words
        .filter((word) => forbidden.includes(word))
        .map((word) => `${path}:1 ${word} names no idea`);
      return [...odd, ...empty];
    });
}

export function lengthRule(linesMax: number): Rule {
  return ({ path, text }) => {
    // A specification may be long; what it specifies may not.
    if (path.endsWith('.test.ts')) return [];
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    return lines > linesMax ? [`${path}:${linesMax + 1} has ${lines} lines, more than ${linesMax}`] : [];
  };
}

/** A line for the shell (`#!`) may come before the comment. */
export const openingRule: Rule = ({ path, text }) =>
  /^(#![^\n]*\n)?\s*\/[/*]/.test(text) ? [] : [`${path}:1 does not open with a comment saying what it is`];

export function leftoverRule(words: readonly string[]): Rule {
  const pattern = new RegExp(`\\b(${words.join('|')})\\b`);
  return (source) =>
    commentsOf(source).flatMap(({ start, text }) => {
      const hit = pattern.exec(text);
      return hit ? [`${source.path}:${lineOf(source, start + hit.index)} leaves a ${hit[1]} behind`] : [];
    });
}
