// Finds Chromium and nginx for the browser tests, once a run.
import type { TestProject } from 'vitest/node';
import { debianProgram } from './debian-program.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly chromium: string;
    readonly nginx: string;
  }
}

const CHROMIUM = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const OR_NAMED = ' (or name a Chromium in LEASEHOLD_CHROMIUM)';

export default function setup(project: TestProject): void {
  const { LEASEHOLD_CHROMIUM } = process.env;
  project.provide(
    'chromium',
    LEASEHOLD_CHROMIUM || debianProgram('chromium-headless-shell', CHROMIUM, OR_NAMED),
  );
  project.provide('nginx', debianProgram('nginx-light', ['nginx']));
}
