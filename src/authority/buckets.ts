/** A histogram with fixed bounds: counting a value costs a few comparisons and allocates nothing. */
export class Buckets {
  /** Upper bounds, inclusive, ascending. */
  readonly bounds: readonly number[];
  /** How many values fell into each bucket; the last one has no bound. */
  readonly counts: Float64Array;
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  note(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > bounds[index]!) index += 1;
    counts[index]! += 1;
    this.count += 1;
    this.sum += value;
  }
}
