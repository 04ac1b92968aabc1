// Starts the one Postgres of a run before the first test of the stage, and ends it after the last.
import type { TestProject } from 'vitest/node';
import { type Cluster, startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: Cluster;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // The machine does not lose its power during a test, and a killed server loses nothing that it has written.
  const cluster = await startCluster(['fsync=off']);
  project.provide('postgres', cluster);
  return () => stopCluster(cluster);
}
