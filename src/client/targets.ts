/**
 * Where each operation goes: a plus for what may stand in a batch, the path, the method unless it is POST. It says what
 * the table of the wire (`protocol/routes.ts`) says, in a twentieth of its size, because browsers load it, and as one
 * text, which packs better than a record; a test holds the two together, and a new operation needs its line.
 */
import type { Operation, Route } from '../protocol/routes.ts';

export interface Target {
  readonly method: Route['method'];
  /** Fields in braces. */
  readonly path: string;
  readonly mayJoinBatch: boolean;
  /** It keeps alive what is held, and must not wait behind other calls. */
  readonly isRenewal: boolean;
}

const LINES = `task.create +/v1/tasks
task.lease +/v1/tasks/lease
task.extend +/v1/tasks/{task_id}/extend
task.complete +/v1/tasks/{task_id}/complete
task.fail +/v1/tasks/{task_id}/fail
task.release +/v1/tasks/{task_id}/release
task.kill /v1/tasks/{task_id}/kill
task.get /v1/tasks/{task_id} GET
task.list /v1/tasks GET
task.history /v1/tasks/{task_id}/history GET
task.why /v1/tasks/{task_id}/why GET
worker.heartbeat +/v1/workers/{worker_id}/heartbeat
worker.list /v1/workers GET
queue.list /v1/queues GET
queue.pause /v1/queues/{queue}/pause
queue.resume /v1/queues/{queue}/resume
lease.acquire +/v1/leases/{name}/acquire
lease.acquire_all /v1/leases/acquire
lease.renew +/v1/leases/{name}/renew
lease.release +/v1/leases/{name}/release
lease.break /v1/leases/{name}/break
lease.wipe /v1/leases/wipe
lease.get /v1/leases/{name} GET
lease.list /v1/leases GET
lease.history /v1/leases/{name}/history GET
object.write +/v1/objects/{object_id} PUT
object.get /v1/objects/{object_id} GET
object.delete /v1/objects/{object_id} DELETE
receipt.list /v1/receipts GET
status.get /v1/status GET
whoami.get /v1/whoami GET
intent.accept /api/v3/intents
session.get /api/v3/sessions/{session_id} GET
session.list /api/v3/sessions GET
session.heartbeat /api/v3/sessions/{session_id}/heartbeat
session.stop /api/v3/sessions/{session_id} DELETE
session.start /api/v3/sessions/{session_id}/start
session.change /api/v3/sessions/{session_id}/change
session.renew /api/v3/sessions/renew`;

export const TARGETS = Object.fromEntries(
  LINES.split('\n').map((line) => {
    const [operation, place, method = 'POST'] = line.split(' ');
    const path = place!.replace('+', '');
    return [
      operation,
      { method, path, mayJoinBatch: path !== place, isRenewal: /renew$|heartbeat$/.test(operation!) },
    ];
  }),
) as Readonly<Record<Operation, Target>>;

export const BATCH_PATH = '/v1/batch';
export const LOG_PATH = '/v1/log';
