/** Raw log entries, collapsed. */
import { jsonOf } from '../data/entry-json.ts';
import { visible } from '../data/visible.ts';

export function RawEntries({ entries }: { entries: readonly object[] }) {
  if (entries.length === 0) return null;
  return (
    <details class="opaque">
      <summary>
        Entries <span class="soft">{entries.length}, raw</span>
      </summary>
      <pre tabIndex={0}>{entries.map((entry) => visible(jsonOf(entry))).join('\n')}</pre>
    </details>
  );
}
