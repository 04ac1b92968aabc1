/**
 * A paginated list. Nothing is sent before it is awaited or iterated, and each of those sends its own requests. It is
 * thenable, so an `async` function that returns a listing resolves to its first page.
 */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Pass it as `cursor` to get the next page; null on the last page. */
  readonly cursor: string | null;
}

/** Await it to get one page. Iterate it to get all items, page by page. */
export interface Listing<Item> extends AsyncIterable<Item>, PromiseLike<Page<Item>> {}

export interface PageOptions {
  /** The maximum number of items per page. */
  readonly limit?: number;
  /** The cursor of the previous page. */
  readonly cursor?: string;
}

export function listing<Item>(
  first: string | undefined,
  ask: (cursor: string | undefined) => Promise<Page<Item>>,
): Listing<Item> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting a listing requests one page.
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
