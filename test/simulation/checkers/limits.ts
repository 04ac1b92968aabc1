// No grant exceeds a limit: not the live leases of a queue or a key, not the rate, at any position of any log; and keys take
// turns. The log alone is read, by a model that counts.
import { LimitsModel } from '../../support/limits-model.ts';
import { checker } from './checker.ts';

export const limits = checker(
  'limits',
  'No grant exceeds a limit of its queue or key at any position of the log, and keys of equal priority take turns.',
  (reading, complain) => {
    for (const era of reading.eras) {
      const model = new LimitsModel();
      for (const fact of era.facts) {
        const says = model.observe(fact.seq, fact.atMs, fact.entry);
        if (says !== null) complain(`seq ${fact.seq}: ${says}`, fact.event);
      }
    }
  },
);
