// A server that stands by: whatever it refuses is what the table, and so the OpenAPI text, says it may.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { Standby } from '../authority/standby.ts';
import type { PageName } from '../operations/pages.ts';
import { PAGES } from '../operations/pages.ts';
import { refusalsOf } from '../operations/refusals-of.ts';
import { systemClock, systemTimers } from '../world/system-clock.ts';
import { systemIds } from '../world/system-ids.ts';
import { listen } from './serve.ts';
import { Server } from './server.ts';
import { standbyService } from './standby-service.ts';

const say = (): void => undefined;
const logger = { debug: say, info: say, warn: say, error: say, isLevelEnabled: () => false };
const OPTIONS = { host: '127.0.0.1', port: 0, version: '0.0.0' };

let server: Server;
let url: string;

beforeEach(async () => {
  const world = { clock: systemClock, timers: systemTimers, newToken: systemIds.token, logger };
  server = new Server(world, OPTIONS, (parts) => standbyService(new Standby(1), parts));
  url = await listen(server, OPTIONS);
});
afterEach(() => server.stop());

describe('a standby', () => {
  it.each(Object.keys(PAGES) as PageName[])('answers %s as its line in the table says', async (name) => {
    const { method, path } = PAGES[name];
    const place = path.replace('{session_id}', 's0000000001n').replace('{code}', 'NOT_LEADER');
    const body = method === 'POST' ? '{"ops":[]}' : null;
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(url + place, { method, body, headers });
    const { status } = reply;
    const text = await reply.text();
    if (status === 200) return;
    const { code } = expectProblem({ status, headers: Object.fromEntries(reply.headers), text });
    expect(refusalsOf(name)).toContain(code);
  });

  it('answers whoami.get itself: that needs no leader', async () => {
    const reply = await fetch(`${url}/v1/whoami`);
    expect([reply.status, await reply.json()]).toEqual([
      200,
      { name: 'anybody on this machine', scopes: ['*'] },
    ]);
  });
});
