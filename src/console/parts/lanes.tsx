/**
 * Time spans in lanes, one lane per holder or attempt: a bar from start to end, a tick for every sign of life, a mark
 * at an involuntary end, and a flag for a late verdict. Time runs from left to right under one axis.
 */
import { clockText, durationText } from '../data/clock.ts';

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** How it looks: held, ok, bad, wait, warn. */
  readonly tone: string;
  readonly says: string;
  readonly ticks?: readonly number[];
  /** Signs of progress, drawn as diamonds. */
  readonly marks?: readonly { readonly atMs: number; readonly says: string }[];
  readonly isLost?: boolean;
  /** What arrived after the end. */
  readonly flag?: { readonly atMs: number; readonly says: string };
}

export interface Lane {
  readonly label: string;
  readonly spans: readonly Span[];
}

const WIDTH = 1_000;
const LANE = 26;
const BAR = 12;
const TICKS_MAX = 400;
/** More marks than this are drawn small. */
const MARKS_FEW = 12;

export function Lanes({ lanes, label, untilMs }: { lanes: readonly Lane[]; label: string; untilMs: number }) {
  const spans = lanes.flatMap((lane) => lane.spans);
  if (spans.length === 0) return null;
  const from = Math.min(...spans.map(({ fromMs }) => fromMs));
  const until = Math.max(
    untilMs,
    ...spans.map(({ toMs, flag }) => Math.max(toMs, flag?.atMs ?? 0)),
    from + 1,
  );
  const x = (ms: number): number => ((ms - from) / (until - from)) * WIDTH;
  const height = lanes.length * LANE;
  return (
    <div class="lanes">
      <div class="lane-labels" aria-hidden="true">
        {lanes.map((lane, index) => (
          <span key={index} title={lane.label}>
            <bdi>{lane.label}</bdi>
          </span>
        ))}
      </div>
      <div
        class="lane-drawing"
        role="img"
        aria-label={`${label}. ${spans.map(({ says }) => says).join('. ')}`}
      >
        <svg viewBox={`0 0 ${WIDTH} ${height}`} height={height} preserveAspectRatio="none" aria-hidden="true">
          {lanes.map((_, index) => (
            <line
              key={index}
              class="lane-line"
              x1="0"
              x2={WIDTH}
              y1={(index + 1) * LANE}
              y2={(index + 1) * LANE}
            />
          ))}
          {lanes.map((lane, index) =>
            lane.spans.map((span) => {
              const y = index * LANE + (LANE - BAR) / 2;
              const [left, right] = [x(span.fromMs), Math.max(x(span.toMs), x(span.fromMs) + 2)];
              return (
                <g key={`${index} ${span.fromMs}`} class={`span ${span.tone}`}>
                  <title>{span.says}</title>
                  <rect x={left} y={y} width={right - left} height={BAR} />
                  {span.ticks?.slice(-TICKS_MAX).map((at) => (
                    <line key={at} class="tick" x1={x(at)} x2={x(at)} y1={y + 2} y2={y + BAR - 2} />
                  ))}
                  {span.isLost && <line class="lost" x1={right} x2={right} y1={y - 4} y2={y + BAR + 4} />}
                </g>
              );
            }),
          )}
        </svg>
        {lanes.map((lane, index) =>
          lane.spans.flatMap((span) => [
            ...(span.marks ?? []).map(({ atMs, says }, _, all) => (
              <Mark
                key={`m${atMs}`}
                kind={all.length > MARKS_FEW ? 'many' : 'checkpoint'}
                left={x(atMs)}
                lane={index}
                says={says}
              />
            )),
            ...(span.flag === undefined
              ? []
              : [
                  <Mark
                    key={`f${span.flag.atMs}`}
                    kind="flag"
                    left={x(span.flag.atMs)}
                    lane={index}
                    says={span.flag.says}
                  />,
                ]),
          ]),
        )}
        <div class="axis figure" aria-hidden="true">
          <span>{clockText(from)}</span>
          <span>{durationText(until - from)}</span>
          <span>{clockText(until)}</span>
        </div>
      </div>
    </div>
  );
}

function Mark({ kind, left, lane, says }: { kind: string; left: number; lane: number; says: string }) {
  return (
    <span
      class={`mark ${kind}`}
      style={{ left: `${(left / WIDTH) * 100}%`, top: `${lane * LANE}px` }}
      title={says}
    />
  );
}
