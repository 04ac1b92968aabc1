// A disk that outlives the servers on it, and on which payloads are damaged between one server and the next.
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import type { Engine } from '../../src/engines/log.ts';
import { TestDisk } from './test-disk.ts';

export class DamagedDisk {
  private readonly disk = new TestDisk();

  engine(): Engine {
    return fileEngine({ dir: '/data', files: this.disk, segmentBytes: 64 * 1024 });
  }

  /** Changes the first byte of a text in the log, which is in one segment as yet. */
  damage(text: string): void {
    this.disk.tamper(this.disk.paths().find((path) => path.endsWith('.seg'))!, (content) => {
      content[content.indexOf(text)]! ^= 1;
      return content;
    });
  }
}
