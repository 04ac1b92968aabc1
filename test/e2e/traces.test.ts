// Traces with the real OpenTelemetry SDK: what a program sees in its exporter when it enqueues, handles and locks.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { defineTask, open } from '../../src/index.ts';
import { enqueueIn } from '../../src/postgres.ts';
import { openTelemetry } from '../../src/world/open-telemetry.ts';
import { until } from '../support/cli-processes.ts';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = trace.getTracer('the program');
const email = defineTask<string>('email', { retry: { backoff: '1ms' } });

let dir: string;
let lh: Leasehold;

beforeAll(async () => {
  provider.register();
  dir = mkdtempSync(join(tmpdir(), 'leasehold-traces-'));
  lh = await open(dir);
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  await lh.close();
  rmSync(dir, { recursive: true });
  await provider.shutdown();
});

const spans = (name: string): ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);
const linked = ({ links }: ReadableSpan): string[] => links.map(({ context }) => context.spanId);

describe('a task', () => {
  it('is one trace from the caller of enqueue to what its handler does', async () => {
    const { taskId } = await tracer.startActiveSpan('request', async (span) => {
      const receipt = await lh.enqueue(email, 'anna');
      span.end();
      return receipt;
    });
    const seen: (string | null)[] = [];
    const worker = lh.work(email, ({ traceparent }) => {
      seen.push(traceparent);
      tracer.startSpan('smtp').end();
    });
    await lh.receipt(email, taskId).output();
    await worker.drain();
    const [request] = spans('request');
    const [sent] = spans('enqueue email');
    const [handled] = spans('process email');
    const [inner] = spans('smtp');
    expect([sent!.kind, handled!.kind]).toEqual([SpanKind.PRODUCER, SpanKind.CONSUMER]);
    expect(sent!.parentSpanContext?.spanId).toBe(request!.spanContext().spanId);
    expect(handled!.parentSpanContext?.spanId).toBe(sent!.spanContext().spanId);
    expect(inner!.parentSpanContext?.spanId).toBe(handled!.spanContext().spanId);
    expect(new Set([request, sent, handled, inner].map((span) => span!.spanContext().traceId)).size).toBe(1);
    const { traceId, spanId } = sent!.spanContext();
    expect(seen).toEqual([`00-${traceId}-${spanId}-01`]);
    expect(sent!.attributes).toEqual({
      'messaging.system': 'leasehold',
      'messaging.destination.name': 'email',
      'messaging.operation.name': 'enqueue',
      'messaging.operation.type': 'send',
      'messaging.message.id': taskId,
    });
    expect(handled!.attributes).toMatchObject({
      'messaging.operation.type': 'process',
      'messaging.message.id': taskId,
      'leasehold.attempt': 1,
      'leasehold.verb': 'complete',
    });
  });

  it('is linked to the enqueue by a retry, in a trace of its own', async () => {
    const { taskId } = await lh.enqueue(email, 'boris');
    const worker = lh.work(email, ({ attempt }) => {
      if (attempt === 1) throw new Error('mailbox full');
    });
    await lh.receipt(email, taskId).output();
    await worker.drain();
    const [sent] = spans('enqueue email');
    const [first, second] = spans('process email');
    const { traceId, spanId } = sent!.spanContext();
    expect(first!.status).toMatchObject({ code: SpanStatusCode.ERROR, message: 'mailbox full' });
    expect(first!.attributes['error.type']).toBe('Error');
    expect([linked(first!), linked(second!)]).toEqual([[spanId], [spanId]]);
    expect(first!.spanContext().traceId).toBe(traceId);
    expect(second!.spanContext().traceId).not.toBe(traceId);
    expect(second!.parentSpanContext).toBeUndefined();
  });

  it('belongs to the trace that the call names, and then the client adds no span', async () => {
    const given = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      tracestate: 'a=1',
    };
    const { taskId } = await lh.enqueue(email, 'clara', { trace: given });
    expect(spans('enqueue email')).toEqual([]);
    const worker = lh.work(email, () => undefined);
    await lh.receipt(email, taskId).output();
    await worker.drain();
    const [handled] = spans('process email');
    expect(handled!.parentSpanContext).toMatchObject({ spanId: '00f067aa0ba902b7', isRemote: true });
    expect(handled!.parentSpanContext?.traceState?.serialize()).toBe('a=1');
  });

  it('carries its trace through an outbox', async () => {
    const statements: (readonly unknown[])[] = [];
    const tx = {
      query: async (_: string, values: unknown[] = []) => {
        statements.push(values);
        return { rows: [{ task_id: values[0] }] };
      },
    };
    const { taskId } = await enqueueIn(tx, email, 'dora');
    const [sent] = spans('enqueue email');
    const { traceId, spanId } = sent!.spanContext();
    expect(sent!.attributes['messaging.message.id']).toBe(taskId);
    expect(JSON.parse(String(statements[0]![3])).trace).toEqual({
      traceparent: `00-${traceId}-${spanId}-01`,
    });
  });
});

describe('a program that has registered no SDK', () => {
  it('makes no spans until it registers one', async () => {
    trace.disable();
    expect(openTelemetry()).toBeUndefined();
    await lh.withLease('unseen', () => undefined);
    provider.register();
    expect(openTelemetry()).toBeDefined();
    await lh.withLease('seen', () => undefined);
    expect(spans('hold lease').map(({ attributes }) => attributes['leasehold.names'])).toEqual([['seen']]);
  });
});

describe('a program without OpenTelemetry', () => {
  it('loads nothing of it, and works', () => {
    const program = `
      import Module from 'node:module';
      const resolve = Module._resolveFilename;
      Module._resolveFilename = (name, ...rest) => {
        if (name === '@opentelemetry/api') throw Object.assign(new Error('none'), { code: 'MODULE_NOT_FOUND' });
        return resolve(name, ...rest);
      };
      const { defineTask, open } = await import('leasehold');
      const lh = await open(process.argv[1]);
      const task = defineTask('plain');
      const worker = lh.work(task, ({ traceparent }) => traceparent);
      console.log(await (await lh.enqueue(task, 1)).output());
      await worker.drain();
      await lh.close();
      console.log(Object.keys(Module._cache).filter((file) => file.includes('opentelemetry')).length);`;
    const args = ['--input-type=module', '-e', program, join(dir, 'plain')];
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    expect(execFileSync(process.execPath, args, { cwd, encoding: 'utf8' })).toBe('null\n0\n');
  });
});

describe('a lease', () => {
  it('is a span as long as it is held, around what is done under it', async () => {
    await lh.withLease('nightly', async (lease) => {
      tracer.startSpan('report').end();
      expect(spans('hold lease')).toEqual([]);
      expect(lease.name).toBe('nightly');
    });
    const [held] = spans('hold lease');
    const [report] = spans('report');
    expect(report!.parentSpanContext?.spanId).toBe(held!.spanContext().spanId);
    expect(held!.attributes).toMatchObject({ 'leasehold.names': ['nightly'] });
    expect(held!.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('ends its span with an error when it is lost', async () => {
    const lease = await lh.acquire('nightly', { ttl: '300ms' });
    await lh.leases.break('nightly', { reason: 'by hand' });
    await until('the loss', () => lease.signal.aborted);
    const [held] = spans('hold lease');
    expect(held!.status.code).toBe(SpanStatusCode.ERROR);
    expect(held!.attributes).toMatchObject({ 'error.type': 'LEASE_LOST', 'leasehold.loss': 'broken' });
  });
});
