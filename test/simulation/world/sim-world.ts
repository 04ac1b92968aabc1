/** Everything there is in one run. */
import type { Plan } from '../plan.ts';
import type { AuthorityNode } from './authority-node.ts';
import type { ClientNode } from './client-node.ts';
import type { Kernel } from './kernel.ts';
import type { Recorder } from './recorder.ts';
import type { SimNetwork } from './sim-network.ts';

export interface SimWorld {
  readonly plan: Plan;
  readonly kernel: Kernel;
  readonly recorder: Recorder;
  readonly network: SimNetwork;
  readonly authority: AuthorityNode;
  readonly clients: ReadonlyMap<string, ClientNode>;
}
