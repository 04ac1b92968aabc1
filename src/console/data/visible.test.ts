// Names as readers see them: nothing is hidden, nothing is reordered.
import { describe, expect, it } from 'vitest';
import { visible } from './visible.ts';

describe('a name', () => {
  it.each([
    ['plain:name/1.2', 'plain:name/1.2'],
    ['a b', 'a b'],
    ['a ', 'a⟨U+0020⟩'],
    ['evil\u202etxt.exe', 'evil⟨U+202E⟩txt.exe'],
    ['zero\u200bwidth\ufeff', 'zero⟨U+200B⟩width⟨U+FEFF⟩'],
    ['tab\tand\u00a0space', 'tab⟨U+0009⟩and⟨U+00A0⟩space'],
    ['<script>"\'$(x)', '<script>"\'$(x)'],
    ['日本語 ñ 🙂', '日本語 ñ 🙂'],
  ])('%j reads %s', (text, shown) => {
    expect(visible(text)).toBe(shown);
  });
});
