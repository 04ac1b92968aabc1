/**
 * Texts by row: a column of handles, and the slab that keeps the texts of all columns of a state. A row may have none.
 *
 * The slab keeps texts as UTF-8 in slots of fixed sizes, outside the heap: a million client-chosen ids would otherwise
 * be a million heap objects to scan at every garbage collection. A handle names size class and slot; 0 is no text.
 */
import { Int32Column } from './columns.ts';

/** One handle a row. Only the column puts its texts into the slab and frees them. */
export class TextColumn<Row extends number = number> {
  private readonly handles = new Int32Column<Row>();
  private readonly strings: StringSlab;

  constructor(strings: StringSlab) {
    this.strings = strings;
  }

  reserve(row: number): void {
    this.handles.reserve(row);
  }

  has(row: Row | 0): boolean {
    return this.handles.get(row) !== 0;
  }

  get(row: Row | 0): string | null {
    const handle = this.handles.get(row);
    return handle === 0 ? null : this.strings.get(handle);
  }

  equals(row: Row | 0, text: string): boolean {
    const handle = this.handles.get(row);
    return handle !== 0 && this.strings.equals(handle, text);
  }

  /** Frees the text that was there. */
  set(row: Row, text: string | null): void {
    const handle = this.handles.get(row);
    if (handle !== 0) this.strings.free(handle);
    this.handles.set(row, text === null ? 0 : this.strings.put(text));
  }
}

const SMALLEST = 4; // 16 bytes
const CLASSES = 10; // … 8 KiB
const CLASS_SHIFT = 27;
const SLOT_MASK = (1 << CLASS_SHIFT) - 1;
/** Slots of one class are allocated 64 KiB at a time. */
const CHUNK_BYTES_SHIFT = 16;
const LENGTH_BYTES = 2;
/** The number of characters that are passed as arguments of one call. */
const SHORT = 256;

const utf8 = new TextEncoder();
/** A string that begins with a byte order mark keeps it, or it would no longer be found. */
const fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Shared memory for the reason given in `columns.ts`. */
function newChunk(): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(1 << CHUNK_BYTES_SHIFT));
}

class SlotClass {
  readonly shift: number;
  private readonly chunks: Uint8Array[] = [];
  private readonly nextFree = new Int32Column(8);
  private firstFree = 0;
  private used = 0;

  constructor(shift: number) {
    this.shift = shift;
    this.nextFree.reserve(0);
    this.chunks.push(newChunk());
  }

  take(): number {
    const slot = this.firstFree;
    if (slot !== 0) {
      this.firstFree = this.nextFree.get(slot);
      return slot;
    }
    this.used += 1;
    this.nextFree.reserve(this.used);
    if (this.used >>> (CHUNK_BYTES_SHIFT - this.shift) >= this.chunks.length) {
      this.chunks.push(newChunk());
    }
    return this.used;
  }

  free(slot: number): void {
    this.nextFree.set(slot, this.firstFree);
    this.firstFree = slot;
  }

  chunkOf(slot: number): Uint8Array {
    return this.chunks[slot >>> (CHUNK_BYTES_SHIFT - this.shift)]!;
  }

  offsetOf(slot: number): number {
    return (slot & ((1 << (CHUNK_BYTES_SHIFT - this.shift)) - 1)) << this.shift;
  }
}

/** The texts of all columns. */
export class StringSlab {
  /** How many strings are kept. */
  size = 0;
  private readonly classes: SlotClass[] = [];

  constructor() {
    for (let index = 0; index < CLASSES; index++) this.classes.push(new SlotClass(SMALLEST + index));
  }

  put(text: string): number {
    const length = text.length;
    let index = classFor(length);
    let slots = this.classes[index]!;
    let slot = slots.take();
    let bytes = slots.chunkOf(slot);
    const offset = slots.offsetOf(slot);
    let code = 0;
    for (let i = 0; i < length && code < 0x80; i++) {
      code = text.charCodeAt(i);
      bytes[offset + LENGTH_BYTES + i] = code;
    }
    if (code < 0x80) {
      setLength(bytes, offset, length);
      this.size += 1;
      return (index << CLASS_SHIFT) | slot;
    }
    slots.free(slot);
    const encoded = utf8.encode(text);
    index = classFor(encoded.length);
    slots = this.classes[index]!;
    slot = slots.take();
    bytes = slots.chunkOf(slot);
    bytes.set(encoded, slots.offsetOf(slot) + LENGTH_BYTES);
    setLength(bytes, slots.offsetOf(slot), encoded.length);
    this.size += 1;
    return (index << CLASS_SHIFT) | slot;
  }

  get(handle: number): string {
    const slots = this.classes[handle >>> CLASS_SHIFT]!;
    const bytes = slots.chunkOf(handle & SLOT_MASK);
    const offset = slots.offsetOf(handle & SLOT_MASK);
    const start = offset + LENGTH_BYTES;
    const length = lengthAt(bytes, offset);
    if (length > SHORT) return decode(bytes, start, length);
    // In one call: a text that is concatenated character by character is a rope, which costs time when it is flattened.
    const codes = new Array<number>(length);
    for (let i = 0; i < length; i++) {
      const byte = bytes[start + i]!;
      if (byte >= 0x80) return decode(bytes, start, length);
      codes[i] = byte;
    }
    return String.fromCharCode.apply(null, codes);
  }

  equals(handle: number, text: string): boolean {
    const slots = this.classes[handle >>> CLASS_SHIFT]!;
    const bytes = slots.chunkOf(handle & SLOT_MASK);
    const offset = slots.offsetOf(handle & SLOT_MASK);
    const length = lengthAt(bytes, offset);
    if (length < text.length) return false;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return this.get(handle) === text;
      if (bytes[offset + LENGTH_BYTES + i] !== code) return false;
    }
    return length === text.length;
  }

  free(handle: number): void {
    this.size -= 1;
    this.classes[handle >>> CLASS_SHIFT]!.free(handle & SLOT_MASK);
  }
}

/** The decoder does not take shared memory. */
function decode(bytes: Uint8Array, start: number, length: number): string {
  return fromUtf8.decode(bytes.slice(start, start + length));
}

function classFor(length: number): number {
  const bits = 32 - Math.clz32(length + LENGTH_BYTES - 1);
  const index = bits <= SMALLEST ? 0 : bits - SMALLEST;
  if (index >= CLASSES) throw new Error(`StringSlab: a string of ${length} bytes is too long`);
  return index;
}

function setLength(bytes: Uint8Array, offset: number, length: number): void {
  bytes[offset] = length & 0xff;
  bytes[offset + 1] = length >>> 8;
}

function lengthAt(bytes: Uint8Array, offset: number): number {
  return bytes[offset]! | (bytes[offset + 1]! << 8);
}
