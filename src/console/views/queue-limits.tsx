/** The limits of a queue, and a dialog to change them. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Body } from '../../browser.ts';
import { ask, may } from '../data/connection.ts';
import { intervalText } from '../data/interval-text.ts';
import { numberIn } from '../data/number-field.ts';
import { visible } from '../data/visible.ts';
import { Empty, Fault } from '../parts/notices.tsx';

export type Limits = NonNullable<Body<'queue.list'>['queues'][number]['limits']>;

export function QueueLimits({
  queue,
  limits,
  again,
}: {
  queue: string;
  limits: Limits | undefined;
  again: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section>
      <h2>Limits</h2>
      {limits === undefined ? (
        <Empty>None: workers get as many tasks as they ask for.</Empty>
      ) : (
        <ul class="limits">
          {limits.max_leased !== undefined && <li>At most {limits.max_leased} of its tasks run at once.</li>}
          {limits.max_leased_per_key !== undefined && (
            <li>At most {limits.max_leased_per_key} run at once for each key.</li>
          )}
          {limits.rate !== undefined && (
            <li>
              At most {limits.rate.count} start in {intervalText(limits.rate.per_ms)}
              {limits.rate.per_key ? ' for each key' : ''}.
            </li>
          )}
        </ul>
      )}
      {may('v1:admin') && (
        <div class="actions">
          <button type="button" onClick={() => setOpen(true)}>
            Change limits…
          </button>
        </div>
      )}
      {isOpen && (
        <LimitsDialog
          queue={queue}
          limits={limits ?? {}}
          onClose={() => {
            setOpen(false);
            again();
          }}
        />
      )}
    </section>
  );
}

function LimitsDialog({ queue, limits, onClose }: { queue: string; limits: Limits; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [fault, setFault] = useState<unknown>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setFault(null);
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const number = (field: string): number | null => numberIn(String(form.get(field) ?? ''));
    try {
      const [count, seconds] = [number('count'), number('seconds')];
      await ask('queue.limit', {
        queue,
        max_leased: number('max_leased'),
        max_leased_per_key: number('max_leased_per_key'),
        rate:
          count === null && seconds === null
            ? null
            : {
                count: count ?? 0,
                per_ms: Math.round((seconds ?? 0) * 1_000),
                per_key: form.get('per_key') !== null,
              },
      });
      dialog.current?.close();
    } catch (refusal) {
      setFault(refusal);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="limits-title" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="limits-title">Limits of {visible(queue)}</h2>
        <p>An empty field means no limit. A lower limit takes nothing back: what runs now continues.</p>
        <NumberField name="max_leased" label="Running at once" value={limits.max_leased} />
        <NumberField
          name="max_leased_per_key"
          label="Running at once for each key"
          value={limits.max_leased_per_key}
        />
        <NumberField name="count" label="Starts" value={limits.rate?.count} />
        <NumberField
          name="seconds"
          label="per this many seconds"
          value={limits.rate === undefined ? undefined : limits.rate.per_ms / 1_000}
        />
        <label class="inline">
          <input type="checkbox" name="per_key" defaultChecked={limits.rate?.per_key ?? false} />
          Count starts per key
        </label>
        <Fault fault={fault} />
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep as it is
          </button>
          <button type="submit" class="primary">
            Set the limits
          </button>
        </div>
      </form>
    </dialog>
  );
}

function NumberField({ name, label, value }: { name: string; label: string; value: number | undefined }) {
  return (
    <label class="stacked">
      {label}
      <input
        name={name}
        inputMode="decimal"
        autocomplete="off"
        defaultValue={value === undefined ? '' : String(value)}
      />
    </label>
  );
}
