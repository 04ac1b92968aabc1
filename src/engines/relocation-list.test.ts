// However many bytes a compaction moves, each old position is there once, in order, with a place where they lie now.
import { describe, expect, it } from 'vitest';
import { RelocationList } from './relocation-list.ts';

describe('a list of relocations', () => {
  it('is empty when nothing moved', () => {
    const { oldAt, newAt } = new RelocationList().sorted();
    expect([oldAt.length, newAt.length]).toEqual([0, 0]);
  });

  it('has every position in order, however many there are and however they came', () => {
    const count = 150_000;
    const list = new RelocationList();
    // A step that shares no divisor with the count meets every position once.
    for (let i = 0; i < count; i++) {
      const place = (i * 7_919) % count;
      list.add(place * 100, place + 0.5);
    }
    const { oldAt, newAt } = list.sorted();
    expect([oldAt.length, newAt.length]).toEqual([count, count]);
    expect(oldAt.findIndex((at, i) => at !== i * 100)).toBe(-1);
    expect(newAt.findIndex((at, i) => at !== i + 0.5)).toBe(-1);
  });

  it('has bytes that several rows share once, with one of their copies', () => {
    const list = new RelocationList();
    list.add(500, 1);
    list.add(300, 2);
    list.add(500, 3);
    list.add(900, 4);
    list.add(500, 5);
    const { oldAt, newAt } = list.sorted();
    expect([...oldAt]).toEqual([300, 500, 900]);
    expect(newAt[0]).toBe(2);
    expect([1, 3, 5]).toContain(newAt[1]);
    expect(newAt[2]).toBe(4);
  });
});
