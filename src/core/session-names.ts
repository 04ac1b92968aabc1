/** The names a session holds while it runs: its service, so that nobody runs it twice, and one of the scarce slots. */
import type { Session } from './session-table.ts';

const SESSION_LEASES = 'lease:';

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
