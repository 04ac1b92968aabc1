/** `leasehold/testing`: a leasehold in memory for your own tests. */
export type { TestLoss } from './testing/lose-lease.ts';
export {
  type FailOptions,
  type TestLeasehold,
  type TestOptions,
  testLeasehold,
} from './testing/test-leasehold.ts';
export type { Exit } from './testing/test-world.ts';
