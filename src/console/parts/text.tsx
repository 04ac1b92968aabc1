/** User-supplied texts, and figures. Invisible characters of names are shown: see `visible.ts`. */
import type { ComponentChildren } from 'preact';
import { ageText, clockText, countText, durationText, tick } from '../data/clock.ts';
import { hrefOf } from '../data/route.ts';
import { codePoint, piecesOf, visible } from '../data/visible.ts';

export function Name({ text, class: more = '' }: { text: string; class?: string }) {
  const pieces = piecesOf(text);
  return (
    <bdi class={`name ${more}`} title={visible(text)}>
      {pieces.map((piece, index) => (index % 2 === 0 ? piece : <span class="odd">{codePoint(piece)}</span>))}
    </bdi>
  );
}

/** A name that links to its page. */
export function NameLink({ view, text }: { view: string; text: string }) {
  return (
    <a class="namelink" href={hrefOf(view, text)}>
      <Name text={text} />
    </a>
  );
}

export function Instant({ at }: { at: string | number }) {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time class="figure" dateTime={new Date(ms).toISOString()} title={new Date(ms).toISOString()}>
      {clockText(ms)}
    </time>
  );
}

/** The time since an instant, updated live. */
export function Ago({ at }: { at: string | number }) {
  const ms = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time class="figure" dateTime={new Date(ms).toISOString()} title={clockText(ms)}>
      {ageText(tick.value - ms)}
    </time>
  );
}

export function Duration({ ms }: { ms: number }) {
  return <span class="figure">{durationText(ms)}</span>;
}

export function Count({ of, quiet = false }: { of: number; quiet?: boolean }) {
  return <span class={`figure ${of === 0 && quiet ? 'zero' : ''}`}>{countText(of)}</span>;
}

const TONES: Readonly<Record<string, string>> = {
  WAITING: 'wait',
  LEASED: 'held',
  COMPLETED: 'ok',
  FAILED: 'bad',
  DEAD: 'bad',
  NEW: 'wait',
  STARTING: 'held',
  READY: 'ok',
  STOPPING: 'warn',
  STOPPED: 'off',
  CANCELLED: 'off',
  paused: 'warn',
};

export function State({ of, says }: { of: string; says?: string }) {
  return <span class={`state ${TONES[of] ?? 'off'}`}>{says ?? of.toLowerCase()}</span>;
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
