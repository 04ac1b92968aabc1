/** Opens logs on a disk in memory, for tests and for programs that need no durability. */
import type { Engine, Log, Replay } from '../log.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryLog } from './memory-log.ts';

export function memoryEngine(disk: MemoryDisk = new MemoryDisk()): Engine {
  return {
    async open(replay: Replay): Promise<Log> {
      return new MemoryLog(disk, replay);
    },
  };
}
