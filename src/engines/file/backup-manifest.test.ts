// A backup is what its manifest says, or it is damaged.
import { describe, expect, it } from 'vitest';
import { LogDamagedError } from '../log.ts';
import { assertComplete, decodeManifest, encodeManifest } from './backup-manifest.ts';
import type { LogReport } from './inspect.ts';

const FILE = { name: '0000000000000001.seg', bytes: 4_096, crc32: 7 };
const MANIFEST = { seq: 12, epoch: 3, at: '2026-01-01T00:00:00.000Z', files: [FILE] };
const FOUND = {
  lastSeq: 12,
  epoch: 3,
  files: [{ name: FILE.name, allocatedBytes: FILE.bytes }],
} as unknown as LogReport;

describe('the manifest of a backup', () => {
  it('is read as it was written', () => {
    expect(decodeManifest(encodeManifest(MANIFEST))).toEqual(MANIFEST);
  });

  it('agrees with what it was made of', () => {
    expect(() => assertComplete(MANIFEST, FOUND)).not.toThrow();
  });

  it.each([
    ['ends earlier', { ...FOUND, lastSeq: 11 }],
    ['is of an older epoch', { ...FOUND, epoch: 2 }],
    ['has a file less', { ...FOUND, files: [] }],
    ['has a file more', { ...FOUND, files: [...FOUND.files, { name: 'x.seg', allocatedBytes: 1 }] }],
    ['has a shorter file', { ...FOUND, files: [{ name: FILE.name, allocatedBytes: 4_095 }] }],
  ])('does not agree with a log that %s', (_, found) => {
    expect(() => assertComplete(MANIFEST, found as LogReport)).toThrow(LogDamagedError);
  });
});
