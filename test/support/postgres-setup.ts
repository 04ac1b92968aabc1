// Starts a Postgres for each worker before the first test of the stage, and ends them after the last. A test may stop or kill
// the one of its worker: its files run one after the other, and no other worker uses it.
import type { TestProject } from 'vitest/node';
import { type Cluster, startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: readonly Cluster[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const workers = Array.from({ length: project.config.maxWorkers });
  // The machine does not lose its power during a test, and a killed server loses nothing that it has written.
  const clusters = await Promise.all(workers.map(() => startCluster(['fsync=off'])));
  project.provide('postgres', clusters);
  return async () => {
    await Promise.all(clusters.map(stopCluster));
  };
}
