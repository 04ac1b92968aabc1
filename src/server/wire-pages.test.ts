// What is not an operation: health, pages for people, the description of the API, metrics and the backup.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { REFUSALS } from '../core/refusals.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PAGES } from '../operations/pages.ts';
import { OPERATIONS } from '../operations/table.ts';

let served: Served;

beforeAll(async () => {
  served = await startServed({ version: '1.2.3-test' });
});
afterAll(stopAllServed);

describe('health', () => {
  it('is that the process answers', async () => {
    const { status, headers, text } = await served.send('GET', '/healthz');
    expect([status, headers['content-type'], text]).toEqual([
      200,
      'application/json; charset=utf-8',
      '{"status":"alive"}',
    ]);
  });

  it('is readiness when it may write', async () => {
    const { status, text } = await served.send('GET', '/readyz');
    expect([status, text]).toEqual([200, '{"status":"ready"}']);
  });

  it('may be asked for with whatever a probe adds', async () => {
    expect((await served.send('GET', '/healthz?probe=7')).status).toBe(200);
  });
});

describe('the page of an error', () => {
  it.each(Object.keys(REFUSALS))('is there for %s', async (code) => {
    const { status, headers, text } = await served.send('GET', `/errors/${code}`);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(text).toContain(`<h1>${code}</h1>`);
  });

  it('is where the type of a problem leads', async () => {
    const { type } = expectProblem(await served.send('GET', '/v1/tasks/nothing'));
    expect((await served.send('GET', type)).status).toBe(200);
  });

  it.each(['NOTHING', 'lease_held', '__proto__', 'constructor', '%3Cscript%3E'])(
    'is not there for %s',
    async (code) => {
      expect(expectProblem(await served.send('GET', `/errors/${code}`)).code).toBe('ROUTE_NOT_FOUND');
    },
  );
});

describe('the description of the API', () => {
  it('is OpenAPI 3.1 with every operation and page', async () => {
    const { status, headers, text } = await served.send('GET', '/openapi.json');
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const document = JSON.parse(text);
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('1.2.3-test');
    for (const { method, path } of [...Object.values(OPERATIONS), ...Object.values(PAGES)]) {
      expect(document.paths[path], path).toHaveProperty(method.toLowerCase());
    }
  });
});

describe('the metrics', () => {
  it('are text that Prometheus reads', async () => {
    await served.send('GET', '/nothing');
    const { status, headers, text } = await served.send('GET', '/metrics');
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    for (const line of text.split('\n').filter(Boolean))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [\d.eE+-]+(Inf|NaN)?)$/);
    expect(text).toMatch(/^leasehold_http_requests_total\{.*status="4xx".*\} \d+$/m);
  });
});

describe('the backup', () => {
  it('is a tar archive', async () => {
    const engine = fileEngine({ dir: '/data', files: new TestDisk(), segmentBytes: 64 * 1024 });
    const onDisk = await startServed({ engine });
    const response = await fetch(`${onDisk.url}/v1/backup`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.includes('backup.json')).toBe(true);
    expect(bytes.length % 512).toBe(0);
  });

  it('is refused where the log is not in files, before anything is said', async () => {
    const answer = await served.send('GET', '/v1/backup');
    expect(expectProblem(answer, '/v1/backup')).toMatchObject({
      code: 'ROUTE_NOT_FOUND',
      detail: expect.stringContaining('A log in a Postgres is backed up with its database'),
    });
    // No client must come back for what will never be there.
    expect(answer.headers['retry-after']).toBeUndefined();
    expect(served.troubles).toEqual([]);
  });

  it('is refused when the disk fails before anything is said, and the log of the server says why', async () => {
    const disk = new TestDisk();
    const engine = fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * 1024 });
    const onDisk = await startServed({ engine });
    onDisk.authority.log.snapshot = () => Promise.reject(diskError('EIO'));
    const { code, requestId } = expectProblem(await onDisk.send('GET', '/v1/backup'), '/v1/backup');
    expect(code).toBe('UNAVAILABLE');
    expect(onDisk.troubles).toMatchObject([{ fields: { err: { code: 'EIO' }, request_id: requestId } }]);
  });
});
