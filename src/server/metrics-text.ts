/**
 * The text format of Prometheus, version 0.0.4: for each metric its help, its type, and a line for each sample.
 *
 *   # HELP leasehold_followers Followers of the log.
 *   # TYPE leasehold_followers gauge
 *   leasehold_followers 3
 */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number>>;
  /** Where it is not that of the metric itself, as in a histogram. */
  readonly metricName?: string;
}

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** What it has to show now. */
  readonly look: () => readonly Sample[];
}

export function metricsText(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join('\n');
}

function metricText({ name, type, help, look }: Metric): string {
  const samples = look().map(
    (sample) => `${sample.metricName ?? name}${labelsText(sample)} ${sample.value}\n`,
  );
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n${samples.join('')}`;
}

function labelsText({ labels = {} }: Sample): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
