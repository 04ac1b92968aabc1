// Only the world may fail: no process dies of an assertion, no workload finds its own promise broken, and an
// authority refuses to start only when the disk was damaged or another process has the log.

import { checker } from './checker.ts';

/** What makes the disk refuse a read or a write that a start needs. */
const DISK_TROUBLES = ['disk.eio', 'disk.sync', 'disk.full'];

export const noBugs = checker(
  'no-bugs',
  'No process dies of an assertion, and a start is refused only for a reason.',
  ({ events, eras }, complain) => {
    let mayBeDamaged = false;
    let mayFail = false;
    for (const event of events) {
      if (event.kind === 'fault') {
        mayBeDamaged ||= event.allows.some(({ may }) => may === 'refuse');
        mayFail ||= DISK_TROUBLES.includes(event.fault);
      } else if (event.kind === 'death' && event.cause === 'bug') {
        complain(`${event.node} died: ${event.why}`, event);
      } else if (event.kind === 'broken') {
        // A client cannot know that a disk has lost earlier answers.
        const isExcused = eras.length > 1 && /^c\d+$/.test(event.who);
        if (!isExcused) complain(`${event.who}: ${event.says}`, event);
      }
      if (event.kind === 'refused-boot') {
        const { node, error, message } = event;
        // A restore that failed half-way and is yet to be repeated is no log that may be opened.
        const isHeld =
          error === 'LogHeldError' || message.includes('a restore into this directory was interrupted');
        const isDamaged = error === 'LogDamagedError' && mayBeDamaged;
        const isFailing = /^(EIO|ENOSPC)\b/.test(message) && mayFail;
        if (!isHeld && !isDamaged && !isFailing)
          complain(`${node} did not start: ${error}: ${message}`, event);
      }
    }
  },
);
