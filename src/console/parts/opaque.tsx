/** A payload, result, checkpoint or value: small ones expanded, large ones collapsed, hidden ones marked as hidden. */
import { Json } from '../../browser.ts';
import { countText } from '../data/clock.ts';
import { visible } from '../data/visible.ts';
import { indented } from './json-text.ts';

const FOLDED_FROM = 600;
const SHOWN_MAX = 100_000;

export function Opaque({ label, value }: { label: string; value: unknown }) {
  if (value === undefined) return <p class="opaque-note">{label}: hidden by the server, or there is none.</p>;
  if (value === null) return <p class="opaque-note">{label}: its bytes are damaged on the disk.</p>;
  const text = value instanceof Json ? value.text() : JSON.stringify(value);
  const shown = indented(text.slice(0, SHOWN_MAX));
  return (
    <details class="opaque" open={shown.length <= FOLDED_FROM}>
      <summary>
        {label} <span class="soft">{countText(text.length)} characters</span>
      </summary>
      <pre tabIndex={0}>{lines(shown)}</pre>
      {text.length > SHOWN_MAX && (
        <p class="opaque-note">Only the first {countText(SHOWN_MAX)} characters are shown.</p>
      )}
    </details>
  );
}

/** Keeps the line breaks and indentation added here; shows every other invisible character by its code point. */
function lines(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const rest = line.trimStart();
      return line.slice(0, line.length - rest.length) + visible(rest);
    })
    .join('\n');
}
