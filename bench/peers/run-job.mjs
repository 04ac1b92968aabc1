/**
 * Runs one measurement: an empty directory, a database where the peer needs one, the driver as a process with a group of
 * its own, a time limit. Whatever the driver left behind is in its group and ends with it.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { statement } from '../postgres/bench-postgres.mjs';
import { newerNode } from './missing.mjs';

/** A young generation that holds what thousands of calls in flight keep alive; the same for every client. */
const NODE_FLAGS = ['--expose-gc', '--max-semi-space-size=64'];
const driver = new URL('driver.mjs', import.meta.url).pathname;

/** How long a driver may take to stop its server after it has answered. */
const STOP_MS = 15_000;
/** Groups of drivers that run; the runner ends them when it is interrupted. */
const groups = new Set();
let databases = 0;

export function endDrivers() {
  for (const group of groups) endGroup(group);
}

/** Gives `{ figures }` or `{ fault }`. */
export async function runJob(job, { folder, cluster, limitMs }) {
  const dir = join(folder, 'job');
  mkdirSync(dir);
  const spec = { ...job, dir };
  const database = `bench_${++databases}`;
  const isInPostgres = job.needs.postgres === true;
  const main = isInPostgres ? `postgres://postgres@127.0.0.1:${cluster.port}/postgres` : null;
  try {
    if (isInPostgres) {
      await statement(main, `CREATE DATABASE ${database}`);
      Object.assign(spec, { cluster, database: main.replace(/postgres$/, database) });
    }
    return await answerOf(spec, Math.min(job.limitMs, limitMs));
  } finally {
    rmSync(dir, { recursive: true, force: true });
    if (isInPostgres) await statement(main, `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  }
}

function answerOf(spec, limitMs) {
  const node = spec.needs.newerNode ? newerNode() : process.execPath;
  const child = spawn(node, [...NODE_FLAGS, driver], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Whatever makes a temporary directory below the driver makes it where it is removed with the job.
    env: { ...process.env, LEASEHOLD_BENCH_DIR: spec.dir },
  });
  groups.add(child.pid);
  return new Promise((resolve) => {
    let answer = null;
    let timer = setTimeout(() => {
      answer = { fault: `There was no result after ${Math.round(limitMs / 1_000)} s.` };
      endGroup(child.pid);
    }, limitMs);
    child.once('message', (message) => {
      answer = message;
      clearTimeout(timer);
      timer = setTimeout(() => endGroup(child.pid), STOP_MS);
    });
    child.once('error', (fault) => {
      answer ??= { fault: fault.message };
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      endGroup(child.pid);
      groups.delete(child.pid);
      resolve(answer ?? { fault: `The driver ended with ${code ?? signal}.` });
    });
    child.send(spec, (fault) => {
      if (fault) answer ??= { fault: fault.message };
    });
  });
}

function endGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch (fault) {
    if (fault.code !== 'ESRCH') throw fault;
  }
}
