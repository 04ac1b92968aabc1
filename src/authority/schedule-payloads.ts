/**
 * Payloads of schedules are in memory while an authority runs, so that a due time fires without waiting for the disk.
 * A schedule whose payload cannot be read back skips its due times, with entries that give the reason.
 */
import type { State } from '../core/state.ts';
import type { Log } from '../engines/log.ts';

export async function readSchedulePayloads({ schedules }: State, log: Pick<Log, 'read'>): Promise<void> {
  for (const { payload } of schedules.all()) {
    if (payload !== null && payload.bytes === null) payload.bytes = await log.read(payload);
  }
}
