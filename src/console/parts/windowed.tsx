/**
 * A virtualised list of equally high rows: only visible rows are rendered. `onReach` receives the visible range, so
 * that a view fetches no other rows.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

const SPARE_ROWS = 8;

export function Windowed({
  count,
  rowHeight,
  row,
  onReach,
}: {
  count: number;
  rowHeight: number;
  row: (index: number) => ComponentChildren;
  onReach?: (first: number, last: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<readonly [number, number]>([0, 60]);
  const look = (): void => {
    const element = box.current;
    if (element === null) return;
    const top = -element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / rowHeight) - SPARE_ROWS);
    const last = Math.min(count, Math.ceil((top + innerHeight) / rowHeight) + SPARE_ROWS);
    setRange((before) =>
      before[0] === first && before[1] === last ? before : [first, Math.max(first, last)],
    );
  };
  useLayoutEffect(look, [count, rowHeight]);
  useEffect(() => {
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  });
  useEffect(() => onReach?.(range[0], range[1]), [range, count]);
  const [first, last] = [Math.min(range[0], count), Math.min(range[1], count)];
  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) rows.push(row(index));
  return (
    <div ref={box} class="windowed" style={{ height: `${count * rowHeight}px` }}>
      <div class="windowed-rows" style={{ transform: `translateY(${first * rowHeight}px)` }}>
        {rows}
      </div>
    </div>
  );
}

/** Whether the screen is narrow, where rows have two lines and are taller. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const heard = (): void => setNarrow(media.matches);
    media.addEventListener('change', heard);
    return () => media.removeEventListener('change', heard);
  }, []);
  return isNarrow;
}

const NARROW = '(max-width: 720px)';
