// Deliberate bugs in limits and turns; see `mutants.ts`, which lists them with the others.
import type { Mutant } from './mutants.ts';

const QUEUE = 'src/core/queue.ts';
const KEYS = 'src/core/key-table.ts';

export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'one-lease-too-many',
    does: 'A queue may have one lease more than its limit.',
    seed: 110_004,
    checker: 'limits',
    edits: [
      {
        file: QUEUE,
        from: "if (maxLeased !== null && this.lists.count('LEASED') >= maxLeased) return true;",
        to: "if (maxLeased !== null && this.lists.count('LEASED') > maxLeased) return true;",
      },
      {
        file: KEYS,
        from: "if (maxLeased !== null && queue.lists.count('LEASED') >= maxLeased) return",
        to: "if (maxLeased !== null && queue.lists.count('LEASED') > maxLeased) return",
      },
    ],
  },
  {
    name: 'rate-forgets-a-grant',
    does: 'A window opens when its second grant from the end has aged.',
    seed: 110_004,
    checker: 'limits',
    edits: [
      {
        file: 'src/core/grant-windows.ts',
        from: 'let surplus = this.size.get(key) - count;',
        to: 'let surplus = this.size.get(key) - count - 1;',
      },
    ],
  },
  {
    name: 'no-turns',
    does: 'A key keeps its turn as long as it has tasks.',
    seed: 110_004,
    checker: 'limits',
    edits: [
      {
        file: 'src/core/apply-tasks.ts',
        from: 'if (queue.rings > 0) queue.endTurn(tasks.priorityOf(row), key);',
        to: '',
      },
    ],
  },
  {
    name: 'place-freed-unseen',
    does: 'A completion serves no worker that waits for the place.',
    seed: 110_006,
    checker: 'limited-lines',
    edits: [
      {
        file: 'src/core/wait-lines.ts',
        from: 'if (!isEnded || queue.limits !== null) this.fed(queue.name);',
        to: 'if (!isEnded) this.fed(queue.name);',
      },
    ],
  },
  {
    name: 'window-opens-unseen',
    does: 'The authority sets no alarm for a window that opens.',
    seed: 110_099,
    checker: 'limited-lines',
    edits: [
      {
        file: 'src/core/machine.ts',
        from: 'this.lines.tasks.size === 0 ? Number.POSITIVE_INFINITY : this.nextReadyMs(),',
        to: 'this.lines.tasks.size === 0 ? Number.POSITIVE_INFINITY : this.state.tasks.delayed.topKey(),',
      },
    ],
  },
];
