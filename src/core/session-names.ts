/** The names a session holds while it runs: its service, so that nobody runs it twice, and one of the scarce slots. */
import { SESSION_LEASES } from './reserved-names.ts';
import type { Session } from './session-table.ts';

export function serviceName(target: string): string {
  return `${SESSION_LEASES}service:${target}`;
}

export function slotName(slot: string): string {
  return `${SESSION_LEASES}tuner:${slot}`;
}

/** Its service, and its slot once it has one. */
export function namesOf({ intent, slot }: Session): string[] {
  return slot === null ? [serviceName(intent.target)] : [serviceName(intent.target), slotName(slot)];
}

/** Whether a wipe under this prefix ends whatever sessions hold. */
export function wipesSessions(prefix: string): boolean {
  return SESSION_LEASES.startsWith(prefix);
}
