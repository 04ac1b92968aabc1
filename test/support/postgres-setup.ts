// Starts the one Postgres of a run before the first test of the stage, and ends it after the last.
import type { TestProject } from 'vitest/node';
import { type Cluster, startCluster, stopCluster } from './postgres-cluster.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: Cluster;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster();
  project.provide('postgres', cluster);
  return () => stopCluster(cluster);
}
