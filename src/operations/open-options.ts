/** The options of `open`, validated like every other input: unknown options and invalid numbers are refused with a sentence. */
import { Type } from '@sinclair/typebox';
import { compileCheck, type RequestCheck } from './schema-check.ts';

const Bound = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A duration, which is read elsewhere. */
const Span = Type.Union([Bound, Type.String()]);

/** How long, and how many. */
const Keeping = Type.Object(
  { for: Type.Optional(Span), max: Type.Optional(Bound) },
  { additionalProperties: false },
);

const Secret = Type.String({ minLength: 1 });

export const OPEN_OPTIONS: RequestCheck = compileCheck(
  Type.Object(
    {
      retention: Type.Optional(
        Type.Object(
          {
            completedTasks: Type.Optional(Keeping),
            failedTasks: Type.Optional(Keeping),
            endedTasks: Type.Optional(Keeping),
            idleNames: Type.Optional(Keeping),
            endedSessions: Type.Optional(Keeping),
            endedTasksMs: Type.Optional(Bound),
            endedTasksMax: Type.Optional(Bound),
            idleNamesMs: Type.Optional(Bound),
            idleNamesMax: Type.Optional(Bound),
            endedSessionsMs: Type.Optional(Bound),
            endedSessionsMax: Type.Optional(Bound),
          },
          { additionalProperties: false },
        ),
      ),
      history: Type.Optional(
        Type.Object({ for: Span, bytesMax: Type.Optional(Bound) }, { additionalProperties: false }),
      ),
      onDeath: Type.Optional(Type.Function([Type.Unknown()], Type.Unknown())),
      onCompactionFault: Type.Optional(Type.Function([Type.Unknown()], Type.Unknown())),
      onTornTail: Type.Optional(Type.Function([Type.Unknown()], Type.Unknown())),
      allowNetworkFileSystem: Type.Optional(Type.Boolean()),
      intents: Type.Optional(
        Type.Object(
          {
            secret: Type.Optional(Secret),
            previousSecret: Type.Optional(Secret),
            takeLeases: Type.Optional(Type.Boolean()),
          },
          { additionalProperties: false },
        ),
      ),
    },
    { additionalProperties: false },
  ),
);
