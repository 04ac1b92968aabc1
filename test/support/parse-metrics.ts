/** Reads the text format of Prometheus, as strictly as Prometheus does. */
const SAMPLE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/;

/** Every sample by its name and labels. Throws on a line that Prometheus would not take. */
export function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  const helped = new Set<string>();
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, comment, name, rest] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (comment === 'HELP') helped.add(name!);
    else if (comment === 'TYPE') types.set(name!, rest!);
    else {
      const [, sample, labels = '', value] = SAMPLE.exec(line) ?? [];
      if (sample === undefined) throw new Error(`Not a sample: ${line}`);
      const family = types.has(sample) ? sample : sample.replace(/_(bucket|sum|count)$/, '');
      if (!types.has(family) || !helped.has(family)) throw new Error(`${sample} has no TYPE or no HELP.`);
      const key = labels === '' ? sample : `${sample}{${labels}}`;
      if (samples.has(key)) throw new Error(`${key} is there twice.`);
      samples.set(key, value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value));
    }
  }
  return samples;
}

/** The samples of one family, without its name. */
export function family(samples: Map<string, number>, name: string): Record<string, number> {
  const found = [...samples].filter(([key]) => key === name || key.startsWith(`${name}{`));
  return Object.fromEntries(found.map(([key, value]) => [key.slice(name.length), value]));
}
