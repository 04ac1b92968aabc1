/** What another process needs to know to reach the cluster and to restart it. */
export interface Cluster {
  readonly folder: string;
  readonly port: number;
  readonly settings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Lines as in postgresql.conf; `parent` is where its folder lies, among the temporary ones if it is not given; `env` is
 * added to the environment of the server.
 */
export function startCluster(
  settings: readonly string[],
  parent?: string,
  env?: Readonly<Record<string, string>>,
): Promise<Cluster>;
export function stopCluster(cluster: Cluster): Promise<void>;
export function haltCluster(cluster: Cluster): Promise<void>;
export function resumeCluster(cluster: Cluster): Promise<void>;
