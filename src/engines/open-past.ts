/** Opens the past that a log has described, on the thread that replays it. */
import type { ThreadWorld } from '../seams/threads.ts';
import { PastFiles } from './file/past-files.ts';
import type { LogPast, PastLog } from './past.ts';
import { PastRows } from './postgres/past-rows.ts';

export async function openPast({ source }: LogPast, { files, databases }: ThreadWorld): Promise<PastLog> {
  return source.kind === 'file'
    ? new PastFiles(files, source)
    : PastRows.open(databases(source.address), source);
}
