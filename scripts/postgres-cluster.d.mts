/** What another process needs to reach and restart the cluster. */
export interface Cluster {
  readonly folder: string;
  readonly port: number;
  readonly settings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * `settings` are lines as in postgresql.conf; `parent` is the parent directory, the system's temporary one by
 * default; `env` is added to the environment of the server.
 */
export function startCluster(
  settings: readonly string[],
  parent?: string,
  env?: Readonly<Record<string, string>>,
): Promise<Cluster>;
export function stopCluster(cluster: Cluster): Promise<void>;
export function haltCluster(cluster: Cluster): Promise<void>;
export function resumeCluster(cluster: Cluster): Promise<void>;
