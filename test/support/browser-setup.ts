// Finds Chromium and nginx for the browser tests, once a run. What is missing is installed by apt where that is possible;
// otherwise the run fails and says what to install.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly chromium: string;
    readonly nginx: string;
  }
}

const CHROMIUM = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

export default function setup(project: TestProject): void {
  const { LEASEHOLD_CHROMIUM } = process.env;
  project.provide('chromium', LEASEHOLD_CHROMIUM || found('chromium-headless-shell', CHROMIUM));
  project.provide('nginx', found('nginx-light', ['nginx']));
}

function found(debianPackage: string, names: readonly string[]): string {
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
  throw new Error(
    `The browser tests need ${names[0]} and found none. Install it: ${install}${names === CHROMIUM ? ' (or name a Chromium in LEASEHOLD_CHROMIUM)' : ''}`,
  );
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
