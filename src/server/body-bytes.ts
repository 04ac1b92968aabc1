/**
 * The body of a request, in however small pieces it comes. A piece takes two hundred bytes whatever is in it, and who
 * sends one byte at a time sends a million of them; so after the first few, small ones are put together in blocks.
 */
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyError } from 'fastify';

type Taken = (fault: Error | null, body?: Buffer) => void;

/** So many are kept as they come: hardly any body has more. */
const FIRST_PIECES = 32;
const BLOCK_BYTES = 16 * 1024;
const SMALL_BYTES = BLOCK_BYTES / 4;

/** Those that are on their way to one server. */
export class Bodies {
  private readonly coming = new Set<BodyBytes>();

  /** Calls once, with the whole body or with why there is none. */
  take(stream: IncomingMessage, bytesMax: number, taken: Taken): void {
    const body = new BodyBytes(stream, bytesMax, (fault, bytes) => {
      this.coming.delete(body);
      taken(fault, bytes);
    });
    this.coming.add(body);
    body.begin();
  }

  /** Waits no longer for any of them. */
  refuse(fault: Error): void {
    for (const body of this.coming) body.finish(fault);
  }
}

class BodyBytes {
  private readonly stream: IncomingMessage;
  private readonly bytesMax: number;
  private readonly taken: Taken;
  private pieces: Buffer[] = [];
  private length = 0;
  /** The block that is being filled, the last of the pieces; what is in it is `filled` bytes long. */
  private block: Buffer | null = null;
  private filled = 0;

  constructor(stream: IncomingMessage, bytesMax: number, taken: Taken) {
    this.stream = stream;
    this.bytesMax = bytesMax;
    this.taken = taken;
  }

  begin(): void {
    if (this.announced > this.bytesMax) this.taken(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    else this.stream.on('data', this.add).on('end', this.end).on('error', this.fail);
  }

  /** Not a number when nothing was said about it. */
  private get announced(): number {
    return Number(this.stream.headers['content-length']);
  }

  private readonly add = (piece: Buffer): void => {
    this.length += piece.length;
    if (this.length > this.bytesMax) {
      this.finish(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
      return;
    }
    if (this.pieces.length >= FIRST_PIECES && piece.length <= SMALL_BYTES) this.putIntoBlock(piece);
    else {
      this.closeBlock();
      this.pieces.push(piece);
    }
  };

  private putIntoBlock(piece: Buffer): void {
    if (this.filled + piece.length > BLOCK_BYTES) this.closeBlock();
    if (this.block === null) {
      this.block = Buffer.allocUnsafe(BLOCK_BYTES);
      this.pieces.push(this.block);
    }
    piece.copy(this.block, this.filled);
    this.filled += piece.length;
  }

  private closeBlock(): void {
    if (this.block === null) return;
    this.pieces[this.pieces.length - 1] = this.block.subarray(0, this.filled);
    this.block = null;
    this.filled = 0;
  }

  private readonly end = (): void => {
    const { length, announced } = this;
    if (Number.isNaN(announced) || announced === length) this.finish(null);
    else this.finish(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
  };

  private readonly fail = (fault: Error): void => {
    this.finish(Object.assign(fault, { statusCode: 400 } satisfies Partial<FastifyError>));
  };

  finish(fault: Error | null): void {
    this.stream.off('data', this.add).off('end', this.end).off('error', this.fail);
    this.closeBlock();
    const { pieces } = this;
    this.pieces = [];
    // A copy, also of a single piece: that is a part of what was read from the connection, and would keep the rest.
    if (fault === null) this.taken(null, Buffer.concat(pieces, this.length));
    else this.taken(fault);
  }
}
