// Loaded into a real process before its program. KILL_BEFORE=n: the process is killed with SIGKILL before the n-th step by which
// it changes a file or a directory, counted from 0. DISK_BYTES=n: files take n bytes in all; a write that does not fit takes what does,
// and the next one fails with ENOSPC, as on a full disk.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

let stepsLeft = Number(process.env.KILL_BEFORE ?? Number.POSITIVE_INFINITY);
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
  const fitting = Math.min(length, bytesLeft);
  bytesLeft -= fitting;
  if (fitting > 0 || length === 0) return write(descriptor, bytes, offset, fitting, position, done);
  const fault = new Error('ENOSPC: no space left on device, write');
  return setImmediate(done, Object.assign(fault, { code: 'ENOSPC', syscall: 'write', errno: -28 }));
};
syncBuiltinESMExports();
