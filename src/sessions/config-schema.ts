/** The configuration of the orchestrator, judged like every other input: unknown fields are refused in a sentence. */
import { type Static, Type } from '@sinclair/typebox';
import { compileCheck, type RequestCheck } from '../operations/schema-check.ts';
import { LIMITS } from '../protocol/limits.ts';

const strict = { additionalProperties: false };

/** Short enough to stand behind `lease:tuner:` in a name. */
const Tuner = Type.String({ format: 'name', maxLength: 128 });

const Profile = Type.Object(
  {
    command: Type.Array(Type.String({ maxLength: 65_536 }), { minItems: 1, maxItems: 1_000 }),
    ready: Type.Optional(Type.Object({ stdout: Type.String({ minLength: 1, maxLength: 1_000 }) }, strict)),
  },
  strict,
);

const Config = Type.Object(
  {
    tuners: Type.Array(Tuner, { minItems: 1, maxItems: LIMITS.slotsMax, uniqueItems: true }),
    /** What is wrong with a name is said by whoever reads the file: here it would only be an unknown field. */
    profiles: Type.Record(Type.String({ pattern: '^[^]*$' }), Profile, { additionalProperties: false }),
    session_idle_ms: Type.Optional(Type.Integer({ minimum: 1_000, maximum: LIMITS.ttlMaxMs })),
  },
  strict,
);

export type OrchestratorConfig = Static<typeof Config>;
export type PipelineProfile = Static<typeof Profile>;

export const ORCHESTRATOR_CONFIG: RequestCheck = compileCheck(Config);
