/**
 * Lower bound: the index of the first number that is not below the one searched for; the last index when all are
 * below.
 */
export function lowerBound(number: number, ascending: Float64Array): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
