/** Whether the authority would take a request of `task.create`, for callers that must know it before they send one. */
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { wrap } from './opaque-values.ts';
import { compileCheck } from './schema-check.ts';
import type { Requests } from './table.ts';
import { createTask } from './task-create.ts';

const CHECK = compileCheck(createTask.request);

/** Why it would be refused whatever the state is; else null. */
export function refuseCreateRequest(request: Requests['task.create']): Refusal | null {
  if (!CHECK.accepts(request)) return invalid(CHECK.explain(request));
  const payload = wrap('payload', request.payload);
  return isRefusal(payload) ? payload : null;
}
