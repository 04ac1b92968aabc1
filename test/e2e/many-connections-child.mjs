// Thousands of connections in their own process: long polls, or followers of the log. It reports their state to its
// parent.
//
//   node many-connections-child.mjs PORT polls|followers
//   parent → { open: COUNT, path, body? }   opens this many more connections with that request
//   parent → { report: true, target? }      asks for their state
//   child  → { open, answered, leases, empty, others, closed, reached }   after either
import { connect } from 'node:net';

const [port, kind] = [Number(process.argv[2]), process.argv[3]];
/** More at once would overflow the queue of connections that the server has not accepted yet. */
const AT_A_TIME = 200;

const found = { open: 0, answered: 0, leases: [], empty: 0, others: [], closed: 0 };
const seqs = [];

function open(path, body, index) {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      const text = body ?? '';
      const head = `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: localhost\r\n`;
      const type =
        body === undefined
          ? ''
          : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
      socket.write(`${head}${type}\r\n${text}`);
      found.open += 1;
      resolve();
    });
    let rest = '';
    socket.setEncoding('latin1');
    socket.on('data', (more) => {
      rest += more;
      if (kind === 'polls') {
        if (isWhole(rest)) take(rest, socket);
      } else rest = follow(rest, index);
    });
    socket.on('error', reject);
    socket.on('close', () => {
      found.closed += 1;
    });
  });
}

function isWhole(text) {
  const end = text.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return end >= 0 && text.length >= end + 4 + Number(length);
}

function take(text, socket) {
  const status = Number(text.slice(9, 12));
  found.answered += 1;
  socket.destroy();
  if (status !== 200) {
    found.others.push(status);
    return;
  }
  const { leases } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  if (leases.length === 0) found.empty += 1;
  for (const { task_id } of leases) found.leases.push(task_id);
}

/** Notes the newest entry; gives what may be the beginning of the next. */
function follow(text, index) {
  for (let at = text.lastIndexOf('"seq":'); at >= 0; at = text.lastIndexOf('"seq":', at - 1)) {
    const seq = /^"seq":(\d+),/.exec(text.slice(at, at + 40));
    if (seq === null) continue;
    seqs[index] = Number(seq[1]);
    break;
  }
  return text.slice(-40);
}

process.on('message', async ({ open: count = 0, path, body, report, target }) => {
  for (let done = 0; done < count; done += AT_A_TIME) {
    const wave = Array.from({ length: Math.min(AT_A_TIME, count - done) }, (_, n) =>
      open(path, body, found.open + n),
    );
    await Promise.all(wave);
  }
  if (report || count > 0) process.send({ ...found, reached: seqs.filter((seq) => seq >= target).length });
});
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
