// An Express app with its worker inside: a request enqueues a task and is answered at once, the task survives the process.
//
//   cd examples/express && npm ci && npm start
//
//   curl -i 127.0.0.1:3000/invoices --json '{ "customer": "ada", "lines": 20 }'     # 202, Location: /invoices/TASK
//   curl 127.0.0.1:3000/invoices/TASK                                               # what became of it
//
// It needs no server: the log is in ./leasehold-data. With LEASEHOLD_URL it uses that server, and several can run at once.
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { connect, defineTask, LeaseholdError, open } from 'leasehold';

const lh = process.env.LEASEHOLD_URL ? connect() : await open('./leasehold-data');

// One invoice at a time for each customer, in all processes together; a customer with many delays no other.
const invoice = defineTask('invoice', {
  key: ({ customer }) => customer,
  limits: { perKey: { concurrency: 1 } },
  input: { '~standard': { version: 1, vendor: 'example', validate: validInvoice } }, // or a schema of Zod, Valibot, ArkType
});

// `signal` aborts when the lease of the task is lost, and when the process has to end before the handler has.
// No `drainOn`: the end of the process is in one place, below.
lh.work(invoice, { concurrency: 4, drainOn: [] }, async ({ input, signal }) => {
  await sleep(input.lines * 100, undefined, { signal }); // render the PDF
  return { file: `${input.customer}.pdf`, lines: input.lines };
});

const app = express();
app.use(express.json());

app.post('/invoices', async (req, res) => {
  // The client's Idempotency-Key is the id of the task: a request that is sent again makes no second invoice.
  const receipt = await lh.enqueue(invoice, req.body, { taskId: req.get('Idempotency-Key') });
  const { taskId, duplicate } = receipt; // durable from here on
  res.status(202).location(`/invoices/${taskId}`).json({ taskId, duplicate });
});

// Any process can tell, also after a restart: WAITING, LEASED, COMPLETED with its output, or FAILED with a reason.
app.get('/invoices/:taskId', async (req, res) => {
  res.json(await lh.receipt(invoice, req.params.taskId).result());
});

const STATUS = { INVALID_TASK: 400, INVALID_ARGUMENT: 400, TASK_NOT_FOUND: 404, TASK_ID_CONFLICT: 409 };

app.use((error, _req, res, next) => {
  if (!LeaseholdError.is(error)) return next(error);
  res.status(STATUS[error.code] ?? 503).json({ code: error.code, message: error.message });
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', (fault) => {
  if (fault) throw fault;
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

// No new requests and no new tasks; running handlers have ten seconds to finish, then their tasks are handed back. Whatever
// waits stays in the log for the next process. A second signal ends this one at once, and loses nothing either.
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, async () => {
    server.close();
    await lh.close({ grace: '10s' });
  });
}

function validInvoice(value) {
  const { customer, lines } = Object(value);
  if (typeof customer !== 'string') return { issues: [{ message: 'customer is not a text' }] };
  if (!Number.isSafeInteger(lines)) return { issues: [{ message: 'lines is not a number' }] };
  return { value: { customer, lines } };
}
