// The output of pipelines on its way to the disk.
import { describe, expect, it } from 'vitest';
import { BoundedLog } from './bounded-log.ts';

class Disk {
  readonly files = new Map<string, string>();
  isFull = false;
  writes = 0;

  async append(path: string, bytes: Uint8Array): Promise<void> {
    this.writes += 1;
    if (this.isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    this.files.set(path, (this.files.get(path) ?? '') + Buffer.from(bytes).toString());
  }

  async rename(from: string, to: string): Promise<void> {
    this.files.set(to, this.files.get(from)!);
    this.files.delete(from);
  }

  get bytes(): number {
    return [...this.files.values()].reduce((sum, text) => sum + text.length, 0);
  }
}

function open(disk: Disk, bytesMax: number): { log: BoundedLog; faults: string[] } {
  const faults: string[] = [];
  return { log: new BoundedLog(disk, 'it.log', bytesMax, ({ message }) => faults.push(message)), faults };
}

describe('the log of a pipeline', () => {
  it('keeps what was written last, and never more than it may', async () => {
    const disk = new Disk();
    const { log } = open(disk, 100);
    for (let line = 0; line < 200; line++) {
      log.write(Buffer.from(`line ${line}\n`));
      await log.close();
      expect(disk.bytes).toBeLessThanOrEqual(100);
    }
    expect([...disk.files.keys()].sort()).toEqual(['it.log', 'it.log.1']);
    const text = disk.files.get('it.log.1')! + disk.files.get('it.log')!;
    expect(text).toMatch(/line 197\nline 198\nline 199\n$/);
  });

  it('leaves out what comes faster than the disk takes it, and says how much', async () => {
    const disk = new Disk();
    const { log } = open(disk, 4_000_000);
    for (let piece = 0; piece < 10; piece++) log.write(Buffer.alloc(100_000, 'x'));
    await log.close();
    log.write(Buffer.from('the end'));
    await log.close();
    expect(disk.bytes).toBeLessThan(300_000);
    expect(disk.files.get('it.log')).toMatch(/x\n\[800000 bytes left out\]\nthe end$/);
  });

  it('says once that the disk failed, and lets the program run on', async () => {
    const disk = new Disk();
    const { log, faults } = open(disk, 100);
    disk.isFull = true;
    log.write(Buffer.from('a'));
    await log.close();
    log.write(Buffer.from('b'));
    await log.close();
    expect(faults).toEqual(['no space left']);
    expect(disk.writes).toBe(1);
  });
});
