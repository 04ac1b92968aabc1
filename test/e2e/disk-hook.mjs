// Loaded into a real process before its program. KILL_BEFORE=n: the process is killed with SIGKILL before the n-th step by which
// it changes a file or a directory, counted from 0. KILL_AFTER_WRITE=n: it is killed after the n-th write, when that is on the disk and
// before anything learns of it. KILL_INSTEAD_OF_WRITE=n: the n-th write is never made, and the process is killed a moment later, so that
// what must not be said before that write would be heard. DISK_BYTES=n: files take n bytes in all; a write that does not fit takes what does,
// and the next one fails with ENOSPC, as on a full disk.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const MOMENT_MS = 20;
let stepsLeft = Number(process.env.KILL_BEFORE ?? Number.POSITIVE_INFINITY);
let writesLeft = Number(process.env.KILL_AFTER_WRITE ?? Number.POSITIVE_INFINITY);
let writesUntilNone = Number(process.env.KILL_INSTEAD_OF_WRITE ?? Number.POSITIVE_INFINITY);
let bytesLeft = Number(process.env.DISK_BYTES ?? Number.POSITIVE_INFINITY);

function step() {
  if (stepsLeft-- === 0) process.kill(process.pid, 'SIGKILL');
}

function counted(owner, name, isChange = () => true) {
  const original = owner[name];
  owner[name] = (...args) => {
    if (isChange(...args)) step();
    return original.apply(owner, args);
  };
}

const isCreation = (_path, flags) => typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0;
const isSync = (_path, flags) => typeof flags === 'number' && (flags & fs.constants.O_DIRECTORY) !== 0;

for (const name of ['mkdir', 'rmdir', 'rename', 'unlink']) counted(fs.promises, name);
// A directory is opened to be synced, and only for that.
counted(fs.promises, 'open', isSync);
counted(fs, 'open', isCreation);
for (const name of ['fdatasync', 'ftruncateSync', 'writeSync']) counted(fs, name);

const { write } = fs;
fs.write = (descriptor, bytes, offset, length, position, done) => {
  step();
  if (writesUntilNone-- <= 0) return setTimeout(() => process.kill(process.pid, 'SIGKILL'), MOMENT_MS);
  const fitting = Math.min(length, bytesLeft);
  bytesLeft -= fitting;
  const isLast = writesLeft-- === 0;
  const finish = isLast ? () => process.kill(process.pid, 'SIGKILL') : done;
  if (fitting > 0 || length === 0) return write(descriptor, bytes, offset, fitting, position, finish);
  const fault = new Error('ENOSPC: no space left on device, write');
  return setImmediate(done, Object.assign(fault, { code: 'ENOSPC', syscall: 'write', errno: -28 }));
};
syncBuiltinESMExports();
