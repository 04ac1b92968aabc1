/**
 * The idempotency key of an intent: an HMAC of its fields, in hexadecimal. Live intents are the same if service and profile
 * are; those for a recording also need the same second of it. During a rotation the previous secret still finds the
 * sessions created with it, and creates none.
 */
import { createHmac } from 'node:crypto';
import type { Intent } from '../core/entries.ts';
import { bucketOf } from '../core/sessions/session-names.ts';

export interface IntentSecrets {
  readonly secret: string;
  /** The previous secret; null when there is none. */
  readonly previousSecret: string | null;
}

export function intentKey(secret: string, intent: Intent): string {
  const { type, target, profileId } = intent;
  const text = ['v3_intent', type, target, profileId, bucketOf(intent)].join('|');
  return createHmac('sha256', secret).update(text).digest('hex');
}
