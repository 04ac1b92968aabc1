/**
 * Collects the body of a request. Each piece costs about two hundred bytes of overhead, and a client may send a body one
 * byte at a time, in a million pieces; so after the first few, small pieces are copied into blocks.
 */
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyError } from 'fastify';

type Taken = (fault: Error | null, body?: Buffer) => void;

/** How many pieces are kept as they arrive. Hardly any body has more. */
const FIRST_PIECES = 32;
const BLOCK_BYTES = 16 * 1024;
const SMALL_BYTES = BLOCK_BYTES / 4;

/** The bodies that one server is receiving. */
export class Bodies {
  private readonly coming = new Set<BodyBytes>();

  /** Calls `taken` once, with the whole body or with the fault. */
  take(stream: IncomingMessage, bytesMax: number, taken: Taken): void {
    const body = new BodyBytes(stream, bytesMax, (fault, bytes) => {
      this.coming.delete(body);
      taken(fault, bytes);
    });
    this.coming.add(body);
    body.begin();
  }

  /** Fails every body that is still incomplete. */
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
  /** The block that is being filled: the last of the pieces, with `filled` bytes in it. */
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

  /** The Content-Length; NaN without the header. */
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
    // Copies even a single piece: it is a view of the connection's read buffer and would keep all of it alive.
    if (fault === null) this.taken(null, Buffer.concat(pieces, this.length));
    else this.taken(fault);
  }
}
