/** Queues that begin with `system:` are reserved: creating or leasing tasks there needs every scope. */
import { isSystemQueue, SYSTEM_QUEUES } from '../core/reserved-names.ts';
import type { ExtraScope } from './operation.ts';

const EVERYTHING: ExtraScope = {
  scope: '*',
  detail: `Queues that begin with ${SYSTEM_QUEUES} need the scope *.`,
};

export function systemQueues(...queues: readonly (string | undefined)[]): ExtraScope | null {
  return queues.some((queue) => queue !== undefined && isSystemQueue(queue)) ? EVERYTHING : null;
}
