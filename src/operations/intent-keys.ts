/**
 * By what the same intent is known again: a keyed digest of what it asks for, in hexadecimal. Live intents for the same
 * service and profile are one; those for a recording are one within a second of it. A secret that is being
 * replaced still finds the sessions it made, and makes none any more.
 */
import { createHmac } from 'node:crypto';
import type { Intent } from '../core/entries.ts';
import { bucketOf } from '../core/sessions/session-names.ts';

export interface IntentSecrets {
  readonly secret: string;
  /** The one before it; null when there is none. */
  readonly previousSecret: string | null;
}

export function intentKey(secret: string, intent: Intent): string {
  const { type, target, profileId } = intent;
  const text = ['v3_intent', type, target, profileId, bucketOf(intent)].join('|');
  return createHmac('sha256', secret).update(text).digest('hex');
}
