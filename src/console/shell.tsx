/** The frame around every view: navigation, live status, time zone, token, help, and keyboard shortcuts. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { clockText, isHidden, isPaused, localZone, switchZone, tick, zone } from './data/clock.ts';
import {
  connection,
  hasToken,
  identity,
  isReadOnly,
  signIn,
  signOut,
  tokenPrompt,
  whoAmI,
} from './data/connection.ts';
import { go, hrefOf, moment, route } from './data/route.ts';
import { backToLive, isPlaying, jump, losses, openTimeMachine, step } from './data/time-machine.ts';
import { visible } from './data/visible.ts';
import { useWatch, watch } from './data/watch.ts';
import { ConfirmationDialog } from './parts/dialog.tsx';
import { Name } from './parts/text.tsx';
import { TimeBar } from './parts/time-bar.tsx';
import { VIEWS, viewOf } from './views.tsx';

const isHelpOpen = signal(false);

export function Shell() {
  const feed = useWatch();
  useKeys();
  useEffect(() => {
    whoAmI().catch(() => undefined);
  }, []);
  const { view, subject } = route.value;
  const shown = viewOf(view);
  useEffect(() => {
    document.title = `${subject === null ? (shown?.title ?? 'leasehold') : visible(subject)} · leasehold`;
    scrollTo(0, 0);
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [view, subject]);
  return (
    <>
      <button type="button" class="skip" onClick={skipToMain}>
        Skip to the content
      </button>
      <header>
        <a class="brand" href={hrefOf('now')}>
          leasehold
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ name, title, key }) => (
            <a
              key={name}
              href={hrefOf(name)}
              title={`g ${key}`}
              aria-current={name === view ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
        <Footer />
      </header>
      <div class="body">
        <StatusLine />
        <TimeBar />
        <main id="main" tabIndex={-1}>
          {tokenPrompt.value !== null ? (
            <TokenPrompt says={tokenPrompt.value} />
          ) : shown === null ? (
            <p class="empty">
              There is no view called {visible(view)}. <a href={hrefOf('now')}>Go to Now</a>.
            </p>
          ) : (
            shown.page(subject, feed)
          )}
        </main>
      </div>
      <ConfirmationDialog />
      <Help />
    </>
  );
}

function skipToMain(): void {
  document.getElementById('main')?.focus();
}

function Footer() {
  const who = identity.value;
  return (
    <div class="footer">
      {who !== null && (
        <span class="who" title={`Scopes: ${who.scopes.join(' ')}`}>
          <Name text={who.name} />
        </span>
      )}
      {isReadOnly && <span class="soft">read-only</span>}
      {hasToken.value && (
        <button type="button" class="quiet" onClick={() => void signOut().catch(() => undefined)}>
          Forget token
        </button>
      )}
      <button type="button" class="quiet" onClick={openHelp}>
        Keys <kbd>?</kbd>
      </button>
    </div>
  );
}

function openHelp(): void {
  isHelpOpen.value = true;
}

function StatusLine() {
  const state = connection.value;
  const status = watch.value?.status;
  return (
    <div class="status" role="status">
      <span class={`link ${moment.value === null ? state.state : 'past-link'}`}>{linkText()}</span>
      {status !== undefined && (
        <span class="figure soft seq" title="The newest position of the log">
          seq {status.seq}
        </span>
      )}
      <span class="space" />
      <button
        type="button"
        class="quiet"
        onClick={switchZone}
        title={`Show times in ${zone.value === 'UTC' ? localZone() : 'UTC'}`}
      >
        <Clock /> {zone.value}
      </button>
      {moment.value === null && (
        <>
          <button type="button" class="quiet" title="t" disabled={status === undefined} onClick={travel}>
            Time machine
          </button>
          <button
            type="button"
            class="quiet"
            aria-pressed={isPaused.value}
            onClick={() => {
              isPaused.value = !isPaused.value;
            }}
          >
            {isPaused.value ? 'Resume' : 'Pause'}
          </button>
        </>
      )}
    </div>
  );
}

function travel(): void {
  const seq = watch.peek()?.status.seq;
  if (seq !== undefined) openTimeMachine(seq);
}

function Clock() {
  return <span class="figure">{clockText(tick.value)}</span>;
}

function linkText(): string {
  const state = connection.value;
  if (moment.value !== null) return 'An earlier moment';
  switch (state.state) {
    case 'connecting':
      return 'Connecting';
    case 'away':
      return `No answer since ${clockText(state.sinceMs)}; retrying`;
    case 'standby':
      return state.leaderUrl === null
        ? 'A standby; no leader is known'
        : `A standby; the leader is ${state.leaderUrl}`;
    default:
      return isPaused.value ? 'Paused' : isHidden.value ? 'Paused while hidden' : 'Live';
  }
}

function TokenPrompt({ says }: { says: string }) {
  const [token, setToken] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== '') signIn(token.trim()).catch(() => setToken(''));
  };
  return (
    <form class="prompt" onSubmit={submit}>
      <h1>Token</h1>
      <p>{says} Paste one. It stays in this tab until you close it, and goes to this server only.</p>
      <label class="stacked">
        Token
        <input
          ref={field}
          type="password"
          autocomplete="off"
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
      </label>
      <div class="buttons">
        <button type="submit" class="primary" disabled={token.trim() === ''}>
          Use this token
        </button>
      </div>
    </form>
  );
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
  }, [isHelpOpen.value]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="help-title"
      onClose={() => {
        isHelpOpen.value = false;
      }}
    >
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        <Key keys="/" says="search on this page" />
        <Key keys="p" says="pause and resume the refresh" />
        <Key keys="t" says="time machine" />
        <Key keys="← →" says="one entry back, forward" />
        <Key keys="[ ]" says="loss before, next loss" />
        <Key keys="Space" says="play and stop" />
        <Key keys="Esc" says="back to live; close" />
        {VIEWS.map(({ title, key }) => (
          <Key key={key} keys={`g ${key}`} says={title} />
        ))}
        <Key keys="?" says="this help" />
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

function Key({ keys, says }: { keys: string; says: string }) {
  return (
    <div>
      <dt>
        {keys.split(' ').map((each) => (
          <kbd key={each}>{each}</kbd>
        ))}
      </dt>
      <dd>{says}</dd>
    </div>
  );
}

const SECOND_KEY_MS = 1_500;
/** Elements in which shortcuts are off. The scrubber is an input without typing. */
const TYPING = 'input:not([type="range"]), textarea, select, dialog';

/** The shortcuts at an earlier moment. */
const PAST_KEYS: Readonly<Record<string, () => void>> = {
  Escape: backToLive,
  ArrowLeft: () => void step(-1).catch(() => undefined),
  ArrowRight: () => void step(1).catch(() => undefined),
  '[': () => jumpToLoss(-1),
  ']': () => jumpToLoss(1),
  ' ': () => {
    isPlaying.value = !isPlaying.value;
  },
};

function jumpToLoss(direction: 1 | -1): void {
  jump(
    losses.peek().map(({ seq }) => seq),
    direction,
  );
}

/**
 * `/` searches, `?` opens help, `p` pauses, `t` opens the time machine, `g` and a letter opens a view. Off while the
 * user types.
 */
function useKeys(): void {
  useEffect(() => {
    let wentAtMs = Number.NEGATIVE_INFINITY;
    const pressed = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest(TYPING)) return;
      const past = moment.peek() === null ? undefined : PAST_KEYS[event.key];
      // Space already presses a focused button.
      if (past !== undefined && !(event.key === ' ' && target.closest('button, a, summary'))) {
        past();
        event.preventDefault();
        return;
      }
      const isSecond = performance.now() - wentAtMs < SECOND_KEY_MS;
      wentAtMs = event.key === 'g' && !isSecond ? performance.now() : Number.NEGATIVE_INFINITY;
      if (isSecond) {
        const view = VIEWS.find(({ key }) => key === event.key);
        if (view !== undefined) go(hrefOf(view.name));
      } else if (event.key === '/') {
        document.getElementById('search')?.focus();
        event.preventDefault();
      } else if (event.key === '?') openHelp();
      else if (event.key === 't') travel();
      else if (event.key === 'p') isPaused.value = !isPaused.value;
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
