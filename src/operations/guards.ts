/** The guard that an orchestrator presents with each of its requests. */
import { type TUnsafe, Type } from '@sinclair/typebox';
import type { Guard } from '../core/commands.ts';
import { Holder, Name, note, ShownToken } from './fields.ts';
import { tokenHash } from './token-hashes.ts';

export interface ShownGuard {
  readonly name: string;
  readonly holder: string;
  readonly token: string;
}

/** A missing or incomplete guard is refused as not held, not as malformed. The types require all of it. */
export const GuardField = Type.Optional(
  Type.Object(
    {
      name: Type.Optional(note(Name, 'The name of the guard.')),
      holder: Type.Optional(Holder),
      token: Type.Optional(ShownToken),
    },
    {
      additionalProperties: false,
      description: 'The live grant of system:orchestrator:guard_lock.',
    },
  ),
) as unknown as TUnsafe<ShownGuard>;

/** Without a guard: one that cannot be held. */
export function guardOf(shown: Partial<ShownGuard> = {}): Guard {
  const { name = '', holder = '', token = '' } = shown;
  return { name, holder, tokenHash: tokenHash(token) };
}
