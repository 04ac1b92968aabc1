/** Metrics of the process under the names that Node dashboards expect; only those that cost nothing between scrapes. */
import type { Metric } from './metrics-text.ts';

const MICROSECONDS = 1e6;

export function processMetrics(): Metric[] {
  const gauge = (name: string, help: string, look: () => number): Metric => ({
    name,
    type: 'gauge',
    help,
    look: () => [{ value: look() }],
  });
  const cpu = (name: string, help: string, look: (usage: NodeJS.CpuUsage) => number): Metric => ({
    name,
    type: 'counter',
    help,
    look: () => [{ value: look(process.cpuUsage()) / MICROSECONDS }],
  });
  return [
    cpu('process_cpu_user_seconds_total', 'CPU time spent in the program.', ({ user }) => user),
    cpu('process_cpu_system_seconds_total', 'CPU time spent in the system.', ({ system }) => system),
    cpu(
      'process_cpu_seconds_total',
      'CPU time in all. At a rate of 1 the authority is at its limit.',
      ({ user, system }) => user + system,
    ),
    gauge('process_uptime_seconds', 'Time since the process started.', () => process.uptime()),
    gauge(
      'process_resident_memory_bytes',
      'Memory of the process. Levels off; see Sizing in the docs.',
      () => process.memoryUsage().rss,
    ),
    gauge('nodejs_heap_size_total_bytes', 'Heap of the process.', () => process.memoryUsage().heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed),
    gauge(
      'nodejs_external_memory_bytes',
      'Memory outside the heap: the tables of the state.',
      () => process.memoryUsage().external,
    ),
    {
      name: 'nodejs_version_info',
      type: 'gauge',
      help: 'The version of Node, as a label.',
      look: () => [{ value: 1, labels: { version: process.version } }],
    },
  ];
}
