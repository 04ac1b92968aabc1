/**
 * The bar of the time machine: the displayed moment, a scrubber over the whole log with its losses, stepping, playing,
 * and the way back to live. Shown only at an earlier moment.
 */
import { useEffect, useState } from 'preact/hooks';
import type { EntryRecord, EntryType } from '../../browser.ts';
import { dayText, durationText, fullText, zone, zoneOffset } from '../data/clock.ts';
import { moment } from '../data/route.ts';
import {
  backToLive,
  entriesFrom,
  isPlaying,
  isScrubbing,
  jump,
  type LogRange,
  logRange,
  losses,
  momentMs,
  type Position,
  parseMoment,
  SPEEDS,
  scale,
  scrubTo,
  showMoment,
  shown,
  speed,
  step,
} from '../data/time-machine.ts';
import { EntryFields } from './entry-fields.tsx';

const LOSS_TYPES: readonly EntryType[] = [
  'LeaseExpired',
  'TaskCancelled',
  'TaskDead',
  'NameExpired',
  'NameBroken',
  'NamesWiped',
];
/** How far back losses are searched, because the server scans the log for them. */
const LOSSES_BACK = 20_000;
/** How many of them are marked, the newest. */
const LOSSES_MAX = 500;

export function TimeBar() {
  const isOpen = moment.value !== null;
  useEffect(() => {
    document.documentElement.classList.toggle('past', isOpen);
  }, [isOpen]);
  if (!isOpen) return null;
  const [range, at] = [logRange.value, shown.value];
  return (
    <section class="time-bar" aria-label="Time machine">
      <div class="time-row">
        <Says range={range} at={at} />
        <span class="space" />
        <GoTo />
        <button type="button" class="primary" onClick={backToLive} title="Esc">
          Back to live
        </button>
      </div>
      {range !== null && at !== null && (
        <>
          <Scrubber range={range} at={at} />
          <Controls range={range} at={at} />
        </>
      )}
    </section>
  );
}

function Says({ range, at }: { range: LogRange | null; at: Position | null }) {
  if (at === null) return <span>An earlier moment</span>;
  const ms = momentMs();
  return (
    <span class="says-moment">
      As of seq <b class="figure">{at.seq}</b>, <b class="figure">{fullText(ms)}</b> {zone.value}
      {range !== null && (
        <span class="soft">, {durationText(range.end.atMs - ms)} before the end of the log</span>
      )}
    </span>
  );
}

function GoTo() {
  const [text, setText] = useState('');
  const [isWrong, setWrong] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const at = parseMoment(text, dayText, zoneOffset(momentMs()));
    setWrong(at === null);
    if (at === null) return;
    setText('');
    showMoment(at);
  };
  return (
    <form class="time-go" onSubmit={submit}>
      <input
        aria-label="Seq or time to go to"
        aria-invalid={isWrong}
        placeholder="seq, 14:02 or a date"
        size={18}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Go</button>
    </form>
  );
}

function Scrubber({ range, at }: { range: LogRange; at: Position }) {
  const isSeq = scale.value === 'seq';
  const [low, high] = isSeq ? [range.first.seq, range.end.seq] : [range.first.atMs, range.end.atMs];
  const span = Math.max(1, high - low);
  const value = isSeq ? at.seq : momentMs();
  // The thumb keeps the dragged position until the answers have caught up.
  const [draft, setDraft] = useState<number | null>(null);
  useEffect(() => {
    if (!isScrubbing()) setDraft(null);
  }, [value]);
  useLosses(range);
  return (
    <div class="scrubber">
      <svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
        {losses.value.map(({ seq, atMs }) => (
          <line
            key={seq}
            x1={(((isSeq ? seq : atMs) - low) / span) * 1_000}
            x2={(((isSeq ? seq : atMs) - low) / span) * 1_000}
            y1="0"
            y2="8"
          />
        ))}
      </svg>
      <input
        type="range"
        aria-label={isSeq ? 'Position in the log' : 'Time in the log'}
        aria-valuetext={`seq ${at.seq}, ${fullText(momentMs())} ${zone.value}`}
        min={low}
        max={high}
        step={1}
        value={draft ?? value}
        onInput={(event) => {
          const target = Number(event.currentTarget.value);
          setDraft(target);
          scrubTo(isSeq ? { at_seq: target } : { at: new Date(target).toISOString() });
        }}
      />
      <div class="axis figure" aria-hidden="true">
        <span>
          {range.first.seq} · {fullText(range.first.atMs).slice(0, 19)}
        </span>
        <span>
          {range.end.seq} · {fullText(range.end.atMs).slice(0, 19)}
        </span>
      </div>
    </div>
  );
}

/** The positions of lost leases, refused results and dead tasks, for the marks above the scrubber. */
function useLosses(range: LogRange): void {
  useEffect(() => {
    let isOver = false;
    const from = Math.max(range.first.seq, range.end.seq - LOSSES_BACK);
    entriesFrom(from, LOSSES_BACK, LOSS_TYPES)
      .then((entries) => {
        if (!isOver)
          losses.value = entries.slice(-LOSSES_MAX).map(({ seq, at }) => ({ seq, atMs: Date.parse(at) }));
      })
      .catch(() => undefined);
    return () => {
      isOver = true;
    };
  }, [range.first.seq]);
}

function Controls({ range, at }: { range: LogRange; at: Position }) {
  const positions = losses.value.map(({ seq }) => seq);
  const move = (entries: number) => () => void step(entries).catch(() => undefined);
  return (
    <div class="time-row">
      <button type="button" onClick={move(-1)} disabled={at.seq <= range.first.seq} title="One entry back: ←">
        <span aria-hidden="true">‹</span>
        <span class="sr">One entry back</span>
      </button>
      <button
        type="button"
        aria-pressed={isPlaying.value}
        disabled={at.seq >= range.end.seq}
        title="Space"
        onClick={() => {
          isPlaying.value = !isPlaying.value;
        }}
      >
        {isPlaying.value ? 'Stop' : 'Play'}
      </button>
      <button type="button" onClick={move(1)} disabled={at.seq >= range.end.seq} title="One entry forward: →">
        <span aria-hidden="true">›</span>
        <span class="sr">One entry forward</span>
      </button>
      <label class="inline">
        Speed
        <select
          value={speed.value}
          onInput={(event) => {
            speed.value = Number(event.currentTarget.value);
          }}
        >
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {scale.value === 'seq' ? `${each} entries/s` : `${each} ×`}
            </option>
          ))}
        </select>
      </label>
      <label class="inline">
        By
        <select
          value={scale.value}
          onInput={(event) => {
            scale.value = event.currentTarget.value === 'time' ? 'time' : 'seq';
          }}
        >
          <option value="seq">seq</option>
          <option value="time">time</option>
        </select>
      </label>
      {positions.length > 0 && (
        <>
          <button type="button" class="quiet" onClick={() => jump(positions, -1)} title="[">
            Loss before
          </button>
          <button type="button" class="quiet" onClick={() => jump(positions, 1)} title="]">
            Next loss
          </button>
        </>
      )}
      <Entry seq={at.seq} />
    </div>
  );
}

/** The entry at the displayed moment. */
function Entry({ seq }: { seq: number }) {
  const [entry, setEntry] = useState<EntryRecord | null>(null);
  useEffect(() => {
    let isOver = false;
    entriesFrom(seq, 1)
      .then(([found]) => {
        if (!isOver) setEntry(found ?? null);
      })
      .catch(() => undefined);
    return () => {
      isOver = true;
    };
  }, [seq]);
  if (entry === null || entry.seq !== seq) return <span class="entry-line" />;
  return (
    <span class="entry-line">
      <b>{entry.type}</b> <EntryFields entry={entry} />
    </span>
  );
}
