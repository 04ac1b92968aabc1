/**
 * A list that comes page by page. Nothing is sent before it is awaited or iterated, and each of those sends its own requests. It is
 * thenable: an `async` function that returns one gives its first page.
 */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it as `cursor` for the next page; null when this is the last. */
  readonly cursor: string | null;
}

/** Await it: one page. Iterate it: everything, page by page. */
export interface Listing<Item> extends AsyncIterable<Item>, PromiseLike<Page<Item>> {}

export interface PageOptions {
  /** How many a page has at most. */
  readonly limit?: number;
  /** The cursor of the page before. */
  readonly cursor?: string;
}

export function listing<Item>(
  first: string | undefined,
  ask: (cursor: string | undefined) => Promise<Page<Item>>,
): Listing<Item> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting a listing is how one page is asked for.
    then: (resolve, reject) => ask(first).then(resolve, reject),
    async *[Symbol.asyncIterator]() {
      let cursor: string | null | undefined = first;
      do {
        const page: Page<Item> = await ask(cursor);
        yield* page.items;
        cursor = page.cursor;
      } while (cursor !== null);
    },
  };
}
