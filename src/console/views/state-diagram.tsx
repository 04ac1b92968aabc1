/** Draws the states of a task and highlights the current one. */
type State = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';

interface Box {
  readonly state: State;
  readonly x: number;
  readonly y: number;
}

const WIDTH = 96;
const HEIGHT = 26;
const BOXES: readonly Box[] = [
  { state: 'WAITING', x: 2, y: 34 },
  { state: 'LEASED', x: 168, y: 34 },
  { state: 'COMPLETED', x: 334, y: 2 },
  { state: 'FAILED', x: 334, y: 34 },
  { state: 'DEAD', x: 334, y: 66 },
];

const ENDED: ReadonlySet<State> = new Set(['COMPLETED', 'FAILED', 'DEAD']);

export function StateDiagram({
  state,
  attempt,
  failures,
}: {
  state: State;
  attempt: number;
  failures: number;
}) {
  const went = (to: State): string => (to === state ? 'edge went' : 'edge');
  const wasLeased = attempt > 0;
  return (
    <svg
      class="diagram"
      viewBox="0 0 432 94"
      role="img"
      aria-label={`The task is ${state.toLowerCase()} after ${attempt} attempts and ${failures} failures.`}
    >
      <path class={wasLeased ? 'edge went' : 'edge'} d="M98 42 H168" />
      <path
        class={attempt > 1 || (attempt === 1 && state === 'WAITING') ? 'edge went' : 'edge'}
        d="M168 52 H98"
      />
      <path class={went('COMPLETED')} d="M264 42 C300 42 298 15 334 15" />
      <path class={went('FAILED')} d="M264 47 H334" />
      <path class={went('DEAD')} d="M264 52 C300 52 298 79 334 79" />
      <text class="edge-label" x="133" y="36">
        {wasLeased ? `leased ${attempt}×` : 'leased'}
      </text>
      <text class="edge-label" x="133" y="66">
        {attempt > 1 ? 'came back' : ''}
      </text>
      {BOXES.map((box) => (
        <g
          key={box.state}
          class={`box ${box.state === state ? (ENDED.has(state) ? `here ${state}` : 'here') : ''}`}
        >
          <rect x={box.x} y={box.y} width={WIDTH} height={HEIGHT} rx="4" />
          <text x={box.x + WIDTH / 2} y={box.y + 17}>
            {box.state.toLowerCase()}
          </text>
        </g>
      ))}
    </svg>
  );
}
