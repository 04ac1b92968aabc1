/**
 * The names a session holds while it runs: its service, so that no other session runs the same, and one of the slots.
 * The service name is decided once, when the intent is accepted, and recorded with the session.
 */
import type { Intent } from '../entries.ts';
import { SESSION_LEASES } from '../reserved-names.ts';
import type { Session } from './session-table.ts';

/** Starts within the same second of a recording share a name. */
const BUCKET_MS = 1_000;

/** The part of the recording that an intent is for; a live service has only one. */
export function bucketOf({ type, startMs }: Intent): number {
  return type === 'live' ? 0 : Math.floor(startMs / BUCKET_MS);
}

export function serviceNameOf(intent: Intent): string {
  return intent.type === 'live'
    ? firstServiceName(intent)
    : `${SESSION_LEASES}vod:${intent.target}:${bucketOf(intent)}`;
}

/** The name that every session held before names were recorded; part of the log format. */
export function firstServiceName({ target }: Intent): string {
  return `${SESSION_LEASES}service:${target}`;
}

export function slotName(slot: string): string {
  return `${SESSION_LEASES}tuner:${slot}`;
}

/** Its service, and its slot once it has one. */
export function namesOf({ serviceName, slot }: Session): string[] {
  return slot === null ? [serviceName] : [serviceName, slotName(slot)];
}

/** Whether a wipe under this prefix ends the leases of sessions. */
export function wipesSessions(prefix: string): boolean {
  return SESSION_LEASES.startsWith(prefix);
}
