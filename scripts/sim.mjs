// `npm run sim`: the simulator. What it does and how to read it: docs/testing.md.
import { register } from 'node:module';

register('../test/simulation/runner/typescript-hooks.mjs', import.meta.url);
await import('../test/simulation/main.ts');
