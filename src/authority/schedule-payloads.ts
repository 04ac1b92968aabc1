/**
 * Payloads of schedules are in memory while an authority runs, so that a due time fires without waiting for the disk.
 * A payload that cannot be read back leaves its schedule without one: its due times are skipped, saying so.
 */
import type { State } from '../core/state.ts';
import type { Log } from '../engines/log.ts';

export async function readSchedulePayloads({ schedules }: State, log: Pick<Log, 'read'>): Promise<void> {
  for (const { payload } of schedules.all()) {
    if (payload !== null && payload.bytes === null) payload.bytes = await log.read(payload);
  }
}
