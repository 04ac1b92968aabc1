// How deep a JSON text is nested, as the reader of requests counts it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTooDeep } from './json-depth.ts';
import { DEPTH_MAX, JsonError, readJson } from './json-reader.ts';

const encoder = new TextEncoder();

/** What the reader says of the same text. */
function isRefused(text: string): boolean {
  try {
    readJson(`{"payload":${text}}`);
    return false;
  } catch (fault) {
    if (fault instanceof JsonError && fault.message.includes('deep')) return true;
    throw fault;
  }
}

describe('a text that is nested too deep', () => {
  it('is found where the reader finds it, whatever stands inside and beside', () => {
    const depth = fc.integer({ min: DEPTH_MAX - 3, max: DEPTH_MAX + 3 });
    const nasty = fc.string({
      unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', 'é', 'x'),
      maxLength: 80,
    });
    fc.assert(
      fc.property(
        depth,
        fc.array(fc.boolean(), { minLength: 1 }),
        nasty,
        nasty,
        (levels, kinds, inside, key) => {
          let value: unknown = inside;
          for (let level = 0; level < levels; level++) {
            value = kinds[level % kinds.length] ? [inside, value] : { [key]: value, after: [] };
          }
          const text = JSON.stringify(value);
          expect(isTooDeep(encoder.encode(text))).toBe(isRefused(text));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('has at least as many characters as its brackets', () => {
    const brackets = (depth: number) => encoder.encode('['.repeat(depth) + ']'.repeat(depth));
    expect(isTooDeep(brackets(DEPTH_MAX))).toBe(false);
    expect(isTooDeep(brackets(DEPTH_MAX + 1))).toBe(true);
  });
});
