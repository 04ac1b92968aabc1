// leasehold for the whole app: `constructor(@Inject(LEASEHOLD) private readonly lh: Leasehold)`.
import process from 'node:process';
import { Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { connect, type Leasehold, open } from 'leasehold';

export const LEASEHOLD = Symbol('leasehold');

/** A server if LEASEHOLD_URL names one; else the log is in this process, in ./leasehold-data. */
const leasehold = {
  provide: LEASEHOLD,
  useFactory: (): Leasehold | Promise<Leasehold> =>
    process.env.LEASEHOLD_URL ? connect() : open('./leasehold-data'),
};

@Global()
@Module({ providers: [leasehold], exports: [leasehold] })
export class LeaseholdModule implements OnApplicationShutdown {
  constructor(@Inject(LEASEHOLD) private readonly lh: Leasehold) {}

  /** Last of all: the workers have drained before, in `beforeApplicationShutdown`, and no request is left. */
  async onApplicationShutdown(): Promise<void> {
    await this.lh.close();
  }
}
