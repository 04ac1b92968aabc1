/** Small hand-drawn SVG figures: a bar that drains, and a line of the last minutes. */
import { durationText, tick } from '../data/clock.ts';

/** What is left of a lease. `seenMs` is when `remainingMs` was true. */
export function DrainBar({
  remainingMs,
  seenMs,
  ttlMs,
}: {
  remainingMs: number;
  seenMs: number;
  ttlMs: number;
}) {
  const left = Math.max(0, remainingMs - Math.max(0, tick.value - seenMs));
  const share = ttlMs <= 0 ? 0 : Math.min(1, left / ttlMs);
  const tone = left === 0 ? 'gone' : share < 0.2 ? 'low' : '';
  return (
    <span class={`drain ${tone}`}>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="rail" width="100" height="6" />
        <rect class="fill" width={(share * 100).toFixed(2)} height="6" />
      </svg>
      <span class="figure">
        {left === 0 ? 'over' : durationText(left < 10_000 ? left : Math.ceil(left / 1_000) * 1_000)}
      </span>
    </span>
  );
}

/** A rate over the last minutes; the newest at the right. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const width = 96;
  const height = 20;
  const highest = Math.max(...values, 0.001);
  const step = width / Math.max(1, SPARK_POINTS - 1);
  const from = width - (values.length - 1) * step;
  const points = values.map(
    (value, index) =>
      `${(from + index * step).toFixed(1)},${(height - 1.5 - (value / highest) * (height - 3)).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <line class="base" x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
      {values.length > 1 && (
        <>
          <polygon
            class="area"
            points={`${from.toFixed(1)},${height} ${points.join(' ')} ${width},${height}`}
          />
          <polyline class="line" points={points.join(' ')} />
        </>
      )}
    </svg>
  );
}

export const SPARK_POINTS = 60;
