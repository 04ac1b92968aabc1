/**
 * `/`: one plain page with the state of the server and where to go next. A caller that may not see the
 * state gets the page without it.
 */
import type { Replies } from '../operations/table.ts';
import { escapeHtml, htmlPage, tableHtml } from './html.ts';

type Status = Replies['status.get'];

const PLACES: readonly (readonly [path: string, says: string])[] = [
  ['/openapi.json', 'every operation, as OpenAPI 3.1'],
  ['/v1/status', 'the state of this server, as JSON'],
  ['/metrics', 'metrics for Prometheus'],
  ['/healthz', 'the process answers'],
  ['/readyz', 'this server may write'],
  ['/errors/LEASE_HELD', 'what a code means; there is a page for each'],
];

const CURL = `export LEASEHOLD_URL=http://127.0.0.1:7420   # or wherever you have found this page

curl --json '{"payload":{"to":"ada@example.org"},"queue":"mail"}' $LEASEHOLD_URL/v1/tasks
curl --json '{"worker_id":"worker-1","queues":["mail"]}' $LEASEHOLD_URL/v1/tasks/lease
curl --json '{"holder":"host-1","ttl_ms":15000}' $LEASEHOLD_URL/v1/leases/nightly-report/acquire
curl $LEASEHOLD_URL/v1/leases/nightly-report
curl -N "$LEASEHOLD_URL/v1/log?from=1&follow=1"`;

const CLI = `leasehold task add --queue mail '{"to":"ada@example.org"}'
leasehold work mail -- ./send-mail
leasehold run nightly-report -- ./make-report
leasehold task ls
leasehold top
leasehold explain LEASE_HELD`;

export function homePage(status: Status | null): string {
  return htmlPage(
    'leasehold',
    `<h1>leasehold</h1>
<p class="soft">Leases with fencing numbers, durable tasks and fenced objects, from one log.</p>
<h2>State</h2>
${status === null ? NO_STATE : stateHtml(status)}
<h2>Where to go</h2>
${tableHtml(PLACES.map(([path, says]) => [says, `<a href="${path}"><code>${path}</code></a>`]))}
<h2>With curl</h2>
<pre>${escapeHtml(CURL)}</pre>
<p class="soft">With tokens, add <code>-H "authorization: Bearer $LEASEHOLD_TOKEN"</code>.</p>
<h2>With the command line</h2>
<pre>${escapeHtml(CLI)}</pre>
<p class="soft">It takes the address from <code>LEASEHOLD_URL</code> and the token from <code>LEASEHOLD_TOKEN</code>.</p>`,
  );
}

const NO_STATE = '<p>It is shown to callers with a token: ask for <code>/v1/status</code> with it.</p>';

function stateHtml({
  role,
  seq,
  epoch,
  last_commit,
  log_bytes,
  disk_full,
  guard_holder,
  leader_url,
  counts,
}: Status): string {
  const { tasks, sessions } = counts;
  return tableHtml([
    ['Role', escapeHtml(role)],
    ...(role === 'leader' ? [] : [['Leader', leader_url ? escapeHtml(leader_url) : 'unknown'] as const]),
    ['Position of the log', `${seq}, in epoch ${epoch}`],
    ['Last commit', escapeHtml(last_commit)],
    ['Size of the log', `${log_bytes} bytes`],
    ['Disk', disk_full ? '<strong>full: nothing new is taken</strong>' : 'has room'],
    ['Guard', guard_holder === null ? 'not held' : `held by ${escapeHtml(guard_holder)}`],
    ['Tasks', countsText(tasks)],
    ['Named leases', `${counts.leases} live, ${counts.names} names known`],
    ['In line', `${counts.waiters} for a lease or a task`],
    ['Sessions', countsText(sessions)],
  ]);
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([state, count]) => `${count} ${state.toLowerCase()}`)
    .join(', ');
}
