/** Queues that begin with `system:` are reserved: creating or leasing tasks there needs every scope. */
import type { ExtraScope } from './operation.ts';

const PREFIX = 'system:';
const EVERYTHING: ExtraScope = {
  scope: '*',
  detail: `Queues that begin with ${PREFIX} need the scope *.`,
};

export function systemQueues(...queues: readonly (string | undefined)[]): ExtraScope | null {
  return queues.some((queue) => queue?.startsWith(PREFIX)) ? EVERYTHING : null;
}
