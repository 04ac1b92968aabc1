/** A histogram as hand-drawn SVG: the count of each duration bucket. */
import { countText } from '../data/clock.ts';

export interface Bucket {
  readonly up_to_ms: number | null;
  readonly count: number;
}

export function Histogram({ buckets, label }: { buckets: readonly Bucket[]; label: string }) {
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  if (total === 0) return <p class="empty">Nothing counted yet since this server opened the log.</p>;
  return (
    <div class="histogram" role="img" aria-label={`${label}: ${describe(buckets, total)}`}>
      {buckets.map(({ up_to_ms: bound, count }, index) => (
        <div class="bucket" key={index} title={`${countText(count)} of ${countText(total)}`}>
          <span class="figure share">{count === 0 ? '' : countText(count)}</span>
          <svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
            <rect width="10" y={100 - (count / most) * 100} height={(count / most) * 100} />
          </svg>
          <span class="bound">{boundText(bound, buckets[index - 1]?.up_to_ms ?? null)}</span>
        </div>
      ))}
    </div>
  );
}

function boundText(bound: number | null, before: number | null): string {
  return bound === null ? `> ${shortDuration(before ?? 0)}` : `≤ ${shortDuration(bound)}`;
}

function shortDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1_000} s`;
  if (ms < 3_600_000) return `${ms / 60_000} min`;
  return ms < 86_400_000 ? `${ms / 3_600_000} h` : `${ms / 86_400_000} d`;
}

function describe(buckets: readonly Bucket[], total: number): string {
  return buckets
    .filter(({ count }) => count > 0)
    .map(
      ({ up_to_ms: bound, count }) =>
        `${count} of ${total} ${bound === null ? 'longer' : `up to ${shortDuration(bound)}`}`,
    )
    .join(', ');
}
