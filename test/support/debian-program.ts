// A program that tests need and Debian has. Where it is missing it is installed by apt if that is possible; otherwise the run fails
// and says what to install.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these names that is found. `hint` ends the sentence that says what is missing. */
export function debianProgram(debianPackage: string, names: readonly string[], hint = ''): string {
  const there = onPath(names);
  if (there !== null) return there;
  const install = `apt-get update && apt-get install -y --no-install-recommends ${debianPackage}`;
  if (process.getuid?.() === 0) {
    spawnSync('sh', ['-c', install], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
  const installed = onPath(names);
  if (installed !== null) return installed;
  throw new Error(`The tests need ${names[0]} and found none. Install it: ${install}${hint}`);
}

function onPath(names: readonly string[]): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin'];
  for (const name of names) {
    for (const folder of folders) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // It is not here.
      }
    }
  }
  return null;
}
