/** What another process needs to know to reach the cluster and to restart it. */
export interface Cluster {
  readonly folder: string;
  readonly port: number;
  readonly settings: readonly string[];
}

/** Lines as in postgresql.conf; `parent` is where its folder lies, among the temporary ones if it is not given. */
export function startCluster(settings: readonly string[], parent?: string): Promise<Cluster>;
export function stopCluster(cluster: Cluster): Promise<void>;
export function haltCluster(cluster: Cluster): Promise<void>;
export function resumeCluster(cluster: Cluster): Promise<void>;
