/**
 * The confirmation of a change: what will happen, to whom, and a reason for the log where one is recorded. Nothing is
 * sent before the user confirms. If the server refuses, the dialog stays open and shows the code.
 */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Fault } from './notices.tsx';

export interface Confirmation {
  readonly title: string;
  /** What will happen, in sentences. */
  readonly says: ComponentChildren;
  /** The word on the button. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /** The label of the reason field; without it the dialog asks for no reason. */
  readonly reason?: string;
  /** A text that it returns is shown, for what cannot be seen on the page. */
  readonly run: (reason: string) => Promise<unknown>;
}

const open = signal<Confirmation | null>(null);

export function confirm(confirmation: Confirmation): void {
  open.value = confirmation;
}

export function ConfirmationDialog() {
  const asked = open.value;
  return asked === null ? null : <Opened key={asked.title} {...asked} />;
}

function Opened({ title, says, action, isDangerous = false, reason, run }: Confirmation) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const [result, setResult] = useState<string | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    open.value = null;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    try {
      const text = await run(words.trim());
      if (typeof text === 'string') setResult(text);
      else close();
    } catch (refusal) {
      setFault(refusal);
      setBusy(false);
    }
  };
  const isReady = !isBusy && (reason === undefined || words.trim() !== '');
  if (result !== null) {
    return (
      <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={close}>
        <h2 id="confirm-title">{title}</h2>
        <p role="status">{result}</p>
        <div class="buttons">
          <button type="button" class="primary" onClick={close}>
            Close
          </button>
        </div>
      </dialog>
    );
  }
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id="confirm-title">{title}</h2>
        <div class="says">{says}</div>
        {reason !== undefined && (
          <label class="stacked">
            {reason}
            <input
              value={words}
              maxLength={1_000}
              autocomplete="off"
              onInput={(event) => setWords(event.currentTarget.value)}
            />
          </label>
        )}
        <Fault fault={fault} />
        <div class="buttons">
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class={isDangerous ? 'danger' : 'primary'} disabled={!isReady}>
            {action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
