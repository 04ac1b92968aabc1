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

  it('leaves nothing out while the disk keeps up, however much it comes to', async () => {
    const disk = new Disk();
    const { log } = open(disk, 4_000_000);
    for (let piece = 0; piece < 10; piece++) {
      log.write(Buffer.alloc(100_000, 'x'));
      await log.close();
    }
    expect(disk.bytes).toBe(1_000_000);
  });

  it('leaves out what comes faster than the disk takes it, and says how much', async () => {
    const disk = new Disk();
    const { log } = open(disk, 4_000_000);
    for (let piece = 0; piece < 10; piece++) log.write(Buffer.alloc(100_000, 'x'));
    await log.close();
    for (const text of ['the ', 'end']) {
      log.write(Buffer.from(text));
      await log.close();
    }
    expect(disk.bytes).toBeLessThan(300_000);
    expect(disk.files.get('it.log')!.slice(-40)).toMatch(/x\n\[800000 bytes left out\]\nthe end$/);
  });

  it('says so at its end, when nothing more was written after what was left out', async () => {
    const disk = new Disk();
    const { log } = open(disk, 4_000_000);
    for (let piece = 0; piece < 10; piece++) log.write(Buffer.alloc(100_000, 'x'));
    await log.close();
    expect(disk.files.get('it.log')!.slice(-30)).toMatch(/x\n\[800000 bytes left out\]\n$/);
  });

  it('has what was written when it was written, whatever becomes of the memory it came in', async () => {
    const disk = new Disk();
    const { log } = open(disk, 100);
    const memory = Buffer.alloc(4);
    for (const text of ['one\n', 'two\n']) {
      memory.write(text);
      log.write(memory);
    }
    memory.fill('x');
    await log.close();
    expect(disk.files.get('it.log')).toBe('one\ntwo\n');
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
