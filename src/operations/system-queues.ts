/** Queues that begin with `system:` are reserved: creating or leasing tasks there needs every scope. */
import { GUARD_PREFIX, isSystemQueue } from '../core/reserved-names.ts';
import type { ExtraScope } from './operation.ts';

const EVERYTHING: ExtraScope = {
  scope: '*',
  detail: `Queues that begin with ${GUARD_PREFIX} need the scope *.`,
};

export function systemQueues(...queues: readonly (string | undefined)[]): ExtraScope | null {
  return queues.some((queue) => queue !== undefined && isSystemQueue(queue)) ? EVERYTHING : null;
}
