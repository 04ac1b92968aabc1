/**
 * The text format of Prometheus, version 0.0.4: for each metric its help, its type, and a line for each sample.
 *
 *   # HELP leasehold_followers Followers of the log.
 *   # TYPE leasehold_followers gauge
 *   leasehold_followers 3
 */
import type { Buckets } from '../authority/buckets.ts';

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string | number>>;
  /** Where it differs from the name of the metric, as in a histogram. */
  readonly metricName?: string;
}

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Its samples now. */
  readonly look: () => readonly Sample[];
}

/** The samples of a histogram. `unit` converts: values are divided by it. */
export function bucketSamples(
  name: string,
  { bounds, counts, count, sum }: Buckets,
  unit: number,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let below = 0;
  const samples: Sample[] = bounds.map((bound, index) => {
    below += counts[index]!;
    return { metricName: `${name}_bucket`, value: below, labels: { ...labels, le: bound / unit } };
  });
  return [
    ...samples,
    { metricName: `${name}_bucket`, value: count, labels: { ...labels, le: '+Inf' } },
    { metricName: `${name}_sum`, value: sum / unit, labels },
    { metricName: `${name}_count`, value: count, labels },
  ];
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
