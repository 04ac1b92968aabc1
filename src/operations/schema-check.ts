/** Schemas compiled to checks that describe the first error in one sentence. */
import { FormatRegistry, type TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError, ValueErrorType } from '@sinclair/typebox/compiler';
import { instantMs } from '../protocol/instant.ts';
import { LIMITS } from '../protocol/limits.ts';
import {
  isIdText,
  isLeaseNameText,
  isNameText,
  isProfileText,
  isReasonText,
  isScheduleNameText,
  isSessionIdText,
  isShownText,
  isTokenText,
  isTraceparentText,
  isTracestateText,
} from '../protocol/texts.ts';

FormatRegistry.Set('name', isNameText);
FormatRegistry.Set('lease-name', isLeaseNameText);
FormatRegistry.Set('id', isIdText);
FormatRegistry.Set('schedule-name', isScheduleNameText);
FormatRegistry.Set('reason', isReasonText);
FormatRegistry.Set('token', isTokenText);
FormatRegistry.Set('shown', isShownText);
FormatRegistry.Set('traceparent', isTraceparentText);
FormatRegistry.Set('tracestate', isTracestateText);
FormatRegistry.Set('profile', isProfileText);
FormatRegistry.Set('session', isSessionIdText);
FormatRegistry.Set('date-time', (text) => Number.isFinite(instantMs(text)));

export interface RequestCheck {
  accepts(request: unknown): boolean;
  /** One sentence about the first error. */
  explain(request: unknown): string;
}

const FORMATS: Record<string, string> = {
  name: `must be 1 to ${LIMITS.nameBytes} bytes of printable text in NFC`,
  'lease-name': `must be 1 to ${LIMITS.nameBytes} bytes of printable text in NFC`,
  id: `must be 1 to ${LIMITS.nameBytes} bytes of printable text in NFC without a slash`,
  'schedule-name': `must be 1 to ${LIMITS.scheduleNameBytes} bytes of printable text in NFC without a slash`,
  reason: `must be 1 to ${LIMITS.reasonBytes} bytes of text`,
  token: `must be ${LIMITS.tokenBytesMin} to ${LIMITS.nameBytes} visible ASCII characters`,
  shown: `must be 1 to ${LIMITS.nameBytes} visible ASCII characters`,
  traceparent: 'must be a W3C traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: `must be 1 to ${LIMITS.tracestateBytes} printable ASCII characters`,
  profile: `must be 1 to ${LIMITS.nameBytes} bytes of printable text in NFC without a bar`,
  'date-time': 'must be an instant with a time zone, such as 2026-01-31T12:00:00.000Z',
  session: 'must be the id of a session, which looks like s0000000001a',
};

export function compileCheck(schema: TSchema): RequestCheck {
  const compiled = TypeCompiler.Compile(schema);
  return {
    accepts: (request) => compiled.Check(request),
    explain(request) {
      const first = compiled.Errors(request).First();
      if (first === undefined) return 'The request is not well formed.';
      const error = innermost(first);
      const field =
        error.path === '' ? 'The request' : `The field ${error.path.slice(1).replaceAll('/', '.')}`;
      return `${field} ${complaint(error)}.`;
    },
  };
}

/** For a field that may also be null, or empty: the error of the other alternative. */
function innermost(error: ValueError): ValueError {
  const { anyOf = [] } = error.schema as { anyOf?: readonly { type?: string; const?: unknown }[] };
  const other = anyOf[1]?.type === 'null' ? 0 : anyOf.length === 2 && anyOf[0]?.const === '' ? 1 : -1;
  const inner = error.errors[other]?.First();
  return inner === undefined ? error : innermost(inner);
}

function complaint({ type, schema, message, value }: ValueError): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is missing';
  if (type === ValueErrorType.ObjectAdditionalProperties) return `is unknown${knownIn(schema)}`;
  // Only cursors have a pattern.
  if (type === ValueErrorType.StringPattern) return 'must be the next_cursor of the page before';
  const { format, anyOf } = schema as { format?: string; anyOf?: readonly { const?: unknown }[] };
  if (format !== undefined && FORMATS[format] !== undefined) {
    return value === undefined ? 'is missing' : FORMATS[format];
  }
  const words = (anyOf ?? []).map(({ const: word }) => word);
  if (words.length > 0 && words.every((word) => typeof word === 'string' && word !== '')) {
    return `must be one of ${words.join(', ')}`;
  }
  return lowerFirst(message);
}

/** The fields that the object may have; `stale` is for clients alone. */
function knownIn({ properties = {} }: TSchema): string {
  const known = Object.keys(properties).filter((name) => name !== 'stale');
  return known.length === 0 ? '' : `; known are ${known.join(', ')}`;
}

function lowerFirst(message: string): string {
  return `is wrong: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}
