// The body of a request, in whatever pieces it comes.
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/collect-garbage.ts';
import { Bodies } from './body-bytes.ts';

interface Coming {
  readonly stream: EventEmitter;
  readonly outcomes: unknown[];
}

function coming(bytesMax: number, headers: IncomingMessage['headers'] = {}): Coming {
  const stream = Object.assign(new EventEmitter(), { headers });
  const outcomes: unknown[] = [];
  new Bodies().take(stream as unknown as IncomingMessage, bytesMax, (fault, body) =>
    outcomes.push(fault === null ? body!.toString() : (fault as NodeJS.ErrnoException).code),
  );
  return { stream, outcomes };
}

describe('a body', () => {
  it.each([
    ['nothing', []],
    ['one piece', ['{"payload":1}']],
    ['several', ['{"pay', 'load', '":', '1', '}']],
    ['pieces that grow', ['{', '"payload"', `:"${'é'.repeat(5_000)}"}`]],
    [
      'many small ones, and large ones in between',
      Array.from({ length: 5_000 }, (_, n) => `${n},`.repeat(n % 999 ? 1 : 5_000)),
    ],
  ])('is what its pieces are together: %s', (_, pieces) => {
    const { stream, outcomes } = coming(1_000_000);
    for (const piece of pieces) stream.emit('data', Buffer.from(piece));
    stream.emit('end');
    expect(outcomes).toEqual([pieces.join('')]);
  });

  it('in pieces of one byte takes up what its bytes do', () => {
    const { stream, outcomes } = coming(1_000_000);
    const read = Buffer.alloc(64 * 1024, ' ');
    const before = bytesInUse();
    for (let place = 0; place < 300_000; place++) {
      stream.emit('data', read.subarray(place % read.length, (place % read.length) + 1));
    }
    expect(bytesInUse() - before).toBeLessThan(3_000_000);
    stream.emit('end');
    expect(outcomes).toEqual([' '.repeat(300_000)]);
  });

  it('is refused once, and read no further, when it is too long', () => {
    const { stream, outcomes } = coming(10);
    stream.emit('data', Buffer.from('1234567890'));
    stream.emit('data', Buffer.from('1'));
    stream.emit('data', Buffer.from('2'));
    stream.emit('end');
    expect(outcomes).toEqual(['FST_ERR_CTP_BODY_TOO_LARGE']);
    expect(coming(10, { 'content-length': '11' }).outcomes).toEqual(['FST_ERR_CTP_BODY_TOO_LARGE']);
  });

  it('is refused when it is not as long as was said', () => {
    const { stream, outcomes } = coming(10, { 'content-length': '3' });
    stream.emit('data', Buffer.from('12'));
    stream.emit('end');
    expect(outcomes).toEqual(['FST_ERR_CTP_INVALID_CONTENT_LENGTH']);
  });

  it('that breaks off is the fault of who sent it', () => {
    const { stream, outcomes } = coming(10);
    stream.emit('data', Buffer.from('12'));
    const fault = Object.assign(new Error('aborted'), { code: 'ECONNRESET', statusCode: 0 });
    stream.emit('error', fault);
    expect([outcomes, fault.statusCode]).toEqual([['ECONNRESET'], 400]);
  });
});
