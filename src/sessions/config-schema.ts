/** The schema of the orchestrator's configuration. Unknown fields are refused, as for every other input. */
import { type Static, Type } from '@sinclair/typebox';
import { compileCheck, type RequestCheck } from '../operations/schema-check.ts';
import { LIMITS } from '../protocol/limits.ts';

const strict = { additionalProperties: false };

/** Short enough for a name that begins with `lease:tuner:`. */
const Slot = Type.String({ format: 'name', maxLength: 128 });

const Slots = Type.Array(Slot, { minItems: 1, maxItems: LIMITS.slotsMax, uniqueItems: true });

const Profile = Type.Object(
  {
    command: Type.Array(Type.String({ maxLength: 65_536 }), { minItems: 1, maxItems: 1_000 }),
    ready: Type.Optional(Type.Object({ stdout: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict)),
  },
  strict,
);

const Config = Type.Object(
  {
    slots: Type.Optional(Slots),
    /** The name of `slots` in older files. */
    tuners: Type.Optional(Slots),
    /** Names are checked by the reader of the file: here a bad one would only be reported as an unknown field. */
    profiles: Type.Record(Type.String({ pattern: '^[^]*$' }), Profile, { additionalProperties: false }),
    session_idle_ms: Type.Optional(Type.Integer({ minimum: 1_000, maximum: LIMITS.ttlMaxMs })),
  },
  strict,
);

/** The configuration as read from a file. */
export type ConfigFile = Static<typeof Config>;
/** The configuration with `tuners` merged into `slots`. */
export type OrchestratorConfig = Omit<ConfigFile, 'slots' | 'tuners'> & { slots: string[] };
export type PipelineProfile = Static<typeof Profile>;

export const ORCHESTRATOR_CONFIG: RequestCheck = compileCheck(Config);
