// Every property of a run starts from one seed.
import fc from 'fast-check';
import { seed } from './seed.ts';

fc.configureGlobal({ seed });
