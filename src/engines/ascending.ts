/** The first place in ascending numbers that is not below the number looked for; the last one when all are. */
export function placeOf(number: number, ascending: Float64Array): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
