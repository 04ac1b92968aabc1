// The client's own short table of the wire, held against the long one.
import { describe, expect, it } from 'vitest';
import { type Operation, PAGES, ROUTES, type Route } from '../protocol/routes.ts';
import { BATCH_PATH, LOG_PATH, TARGETS } from './targets.ts';

describe('the short table of the wire', () => {
  it.each(Object.keys(ROUTES) as Operation[])('says the same as the long one about %s', (operation) => {
    const { method, path, batch }: Route = ROUTES[operation];
    expect(TARGETS[operation]).toMatchObject({ method, path, mayJoinBatch: batch === true });
  });

  it('knows no operation that is not in the long one, and the same pages', () => {
    expect(Object.keys(TARGETS).sort()).toEqual(Object.keys(ROUTES).sort());
    expect([BATCH_PATH, LOG_PATH]).toEqual([PAGES.batch.path, PAGES.log.path]);
  });

  it('sends what keeps something alive apart from the rest', () => {
    const renewals = (Object.keys(TARGETS) as Operation[]).filter(
      (operation) => TARGETS[operation].isRenewal,
    );
    expect(renewals).toEqual(['worker.heartbeat', 'lease.renew', 'session.heartbeat', 'session.renew']);
  });
});
