/**
 * Creates spans with the program's own OpenTelemetry: the package `@opentelemetry/api`, if installed, and the SDK that
 * the program registered with it. The package is looked up once. Names and attributes follow the semantic conventions
 * for messaging. The context is sent as W3C Trace Context, which the wire defines, whatever propagator is registered.
 */
import { createRequire } from 'node:module';
import type { HandledTask, LeaseSpan, Traces } from '../client/traces.ts';

type Api = typeof import('@opentelemetry/api');
type Span = import('@opentelemetry/api').Span;
type SpanContext = import('@opentelemetry/api').SpanContext;

interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** The server accepts no longer one; the trace continues without it. */
const TRACESTATE_MAX = 512;

let found: ApiTraces | null | undefined;

/**
 * Undefined without OpenTelemetry, and while no SDK is registered: spans would then record nothing and still cost time.
 */
export function openTelemetry(): Traces | undefined {
  if (found === undefined) {
    const api = load();
    found = api === null ? null : new ApiTraces(api);
  }
  return found?.isRecorded ? found : undefined;
}

function load(): Api | null {
  const require = createRequire(import.meta.url);
  try {
    return require('@opentelemetry/api') as Api;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw fault;
  }
}

class ApiTraces implements Traces {
  readonly #api: Api;
  /** The tracer provider in use until an SDK is registered. */
  readonly #none: unknown;

  constructor(api: Api) {
    this.#api = api;
    this.#none = new api.ProxyTracerProvider().getDelegate();
  }

  /** Checked each time: a program may register its SDK after it has connected. */
  get isRecorded(): boolean {
    const provider = this.#api.trace.getTracerProvider() as { getDelegate?: () => unknown };
    return provider.getDelegate?.() !== this.#none;
  }

  async sending<T>(
    { queue, taskId }: { readonly queue: string; readonly taskId?: string | undefined },
    send: (trace: TraceContext | undefined) => Promise<T>,
  ): Promise<T> {
    const { SpanKind } = this.#api;
    const attributes = {
      ...messaging(queue, 'enqueue', 'send'),
      ...(taskId === undefined ? {} : { 'messaging.message.id': taskId }),
    };
    const span = this.#tracer.startSpan(`enqueue ${queue}`, { kind: SpanKind.PRODUCER, attributes });
    try {
      const sent = await this.#within(span, () => send(this.#contextOf(span)));
      const { taskId: made } = sent as { readonly taskId?: string };
      if (made !== undefined) span.setAttribute('messaging.message.id', made);
      return sent;
    } catch (fault) {
      this.#failed(span, fault);
      throw fault;
    } finally {
      span.end();
    }
  }

  async handling<End extends { readonly verb: string; readonly error?: unknown }>(
    task: HandledTask,
    handle: () => Promise<End>,
  ): Promise<End> {
    const { SpanKind, ROOT_CONTEXT, trace } = this.#api;
    const { queue, attempt } = task;
    const sender = this.#senderOf(task);
    const attributes = {
      ...messaging(queue, 'process', 'process'),
      'messaging.message.id': task.task_id,
      'leasehold.attempt': attempt,
      'leasehold.lease_seq': task.lease_seq,
    };
    const options = {
      kind: SpanKind.CONSUMER,
      attributes,
      links: sender === null ? [] : [{ context: sender }],
    };
    // A retry may run days later, and as a child it would stretch the sender's trace until then.
    const isChild = sender !== null && attempt === 1;
    const parent = isChild ? trace.setSpanContext(ROOT_CONTEXT, sender) : ROOT_CONTEXT;
    const span = this.#tracer.startSpan(`process ${queue}`, options, parent);
    try {
      const end = await this.#within(span, handle);
      span.setAttribute('leasehold.verb', end.verb);
      if (end.verb === 'fail') this.#failed(span, end.error);
      return end;
    } finally {
      span.end();
    }
  }

  holding({ names, leaseSeq }: { readonly names: readonly string[]; readonly leaseSeq: number }): LeaseSpan {
    const attributes = { 'leasehold.names': [...names], 'leasehold.lease_seq': leaseSeq };
    const span = this.#tracer.startSpan('hold lease', { attributes });
    return {
      run: (work) => this.#within(span, work),
      end: (loss) => {
        if (loss !== 'released') {
          span.setAttribute('error.type', 'LEASE_LOST');
          span.setAttribute('leasehold.loss', loss);
          span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: `The lease was lost: ${loss}.` });
        }
        span.end();
      },
    };
  }

  get #tracer() {
    return this.#api.trace.getTracer('leasehold');
  }

  #within<T>(span: Span, work: () => T): T {
    const { context, trace } = this.#api;
    return context.with(trace.setSpan(context.active(), span), work);
  }

  #failed(span: Span, fault: unknown): void {
    const { code, name, message } = Object(fault) as Record<'code' | 'name' | 'message', unknown>;
    span.setAttribute('error.type', String(code ?? name ?? typeof fault));
    if (fault instanceof Error) span.recordException(fault);
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: String(message ?? fault) });
  }

  /** Undefined when a span has no ids. */
  #contextOf(span: Span): TraceContext | undefined {
    const context = span.spanContext();
    if (!this.#api.isSpanContextValid(context)) return undefined;
    const flags = context.traceFlags.toString(16).padStart(2, '0');
    const tracestate = context.traceState?.serialize() ?? '';
    return {
      traceparent: `00-${context.traceId}-${context.spanId}-${flags}`,
      ...(tracestate === '' || tracestate.length > TRACESTATE_MAX ? {} : { tracestate }),
    };
  }

  #senderOf({ trace }: HandledTask): SpanContext | null {
    if (trace === undefined) return null;
    const [, traceId = '', spanId = '', flags = '00'] = trace.traceparent.split('-');
    const { tracestate } = trace;
    return {
      traceId,
      spanId,
      traceFlags: Number.parseInt(flags, 16),
      isRemote: true,
      ...(tracestate === undefined ? {} : { traceState: this.#api.createTraceState(tracestate) }),
    };
  }
}

function messaging(queue: string, name: string, type: string) {
  return {
    'messaging.system': 'leasehold',
    'messaging.destination.name': queue,
    'messaging.operation.name': name,
    'messaging.operation.type': type,
  };
}
