// The files in deploy/, held against the program: every metric, flag, variable, port and path they name exists. What only
// their own tools can tell (promtool, systemd-analyze, kubectl) is in docs/deploying.md.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { serveCommand } from '../../src/cli/serve.ts';
import type { Shell } from '../../src/cli/shell.ts';
import { REFUSALS } from '../../src/core/refusals.ts';
import { CliBench } from '../support/cli-processes.ts';
import { parseMetrics } from '../support/parse-metrics.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PORT = 7420;
const read = (path: string): string => readFileSync(join(ROOT, 'deploy', path), 'utf8');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** Prometheus itself adds these. */
const ADDED_LABELS = new Set(['job', 'instance', 'le']);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
const RULES: Rule[] = parse(read('prometheus/leasehold-alerts.yaml')).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);

interface Panel {
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string }[];
}
const DASHBOARD: {
  readonly panels: Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] };
} = JSON.parse(read('grafana/leasehold.json'));
const PANEL_QUERIES = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
const VARIABLE_QUERIES = DASHBOARD.templating.list.map(({ query }) => JSON.stringify(query));

/** The options of `serve` that a container, a unit or a pod gives. */
function expectServes([command, ...words]: readonly string[]): void {
  expect(command).toBe('serve');
  const known = serveCommand({} as Shell).options.map(({ long }) => long);
  const flags = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]);
  for (const flag of flags) expect(known).toContain(flag);
}

/** The program reads its variables as `env.NAME`, all of them in the command line. */
function expectRead(variables: readonly string[]): void {
  const folder = join(ROOT, 'src', 'cli');
  const sources = readdirSync(folder).filter((name) => !name.endsWith('.test.ts'));
  const text = sources.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  for (const name of variables) expect(text, name).toContain(`env.${name}`);
}

describe('the alerts and the dashboard', () => {
  const bench = new CliBench();
  let samples: string[];

  beforeAll(async () => {
    await bench.serve();
    await bench.post('/v1/tasks', { payload: 1 });
    const { leases } = await bench.post('/v1/tasks/lease', { worker_id: 'worker' });
    await bench.post(`/v1/tasks/${leases[0].task_id}/complete`, { lease_id: leases[0].lease_id });
    await bench.get('/v1/tasks/unknown');
    samples = [...parseMetrics(await (await fetch(`${bench.url}/metrics`)).text()).keys()];
  });
  afterAll(() => bench.close());

  /** Checks each metric of an expression, and the labels that it is selected by, against what the server shows. */
  function expectShown(query: string): void {
    const named = [...query.matchAll(/\b((?:leasehold|xg2g|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)];
    for (const [, metric, selector = ''] of named) {
      const found = samples.filter((sample) => sample === metric || sample.startsWith(`${metric}{`));
      expect(found, `${metric} of ${query}`).not.toEqual([]);
      for (const [, label, value] of selector.matchAll(/([a-z_]+)=~?\\?"([^"\\]*)\\?"/g)) {
        if (ADDED_LABELS.has(label!)) continue;
        expect(found.join('\n'), `${label} of ${metric}`).toContain(`${label}="`);
        if (label === 'code') expect(Object.keys(REFUSALS)).toContain(value);
        else if (!value!.startsWith('$')) {
          for (const each of value!.split('|')) expect(found.join('\n')).toContain(`${label}="${each}"`);
        }
      }
      for (const [, labels] of query.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of labels!.split(',').map((each) => each.trim())) {
          if (!ADDED_LABELS.has(label)) expect(found.join('\n'), query).toContain(`${label}="`);
        }
      }
    }
  }

  it.each(RULES)(
    '$alert asks for metrics of the server, and says what to do',
    ({ expr, labels, annotations }) => {
      expectShown(expr);
      expect(expr).toMatch(/leasehold|xg2g_/);
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.runbook).toMatch(/\.$/);
    },
  );

  it.each([...new Set([...PANEL_QUERIES, ...VARIABLE_QUERIES])])('the dashboard can show %s', (query) => {
    expectShown(query);
  });

  it('count changes of the leader over all servers: only a leader shows its epoch', () => {
    const { expr } = RULES.find(({ alert }) => alert === 'LeaseholdLeaderChanges')!;
    expect(expr).toContain('changes(max by (job) (leasehold_log_epoch)[');
  });

  it('show every metric of queues', () => {
    const queues = samples.map((sample) => sample.replace(/\{.*|_(bucket|sum|count)\{.*/g, ''));
    const wanted = new Set(queues.filter((name) => /^leasehold_(queue|task|tasks)_/.test(name)));
    expect(wanted.size).toBe(5);
    for (const name of wanted) expect(PANEL_QUERIES.join('\n')).toContain(name);
  });

  it('are a dashboard that Grafana can lay out', () => {
    const { panels } = DASHBOARD;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  it('find the paths of the probes', async () => {
    for (const path of ['/healthz', '/readyz']) expect((await fetch(bench.url + path)).status).toBe(200);
  });
});

describe('the container image', () => {
  const text = read('Dockerfile');
  const lines = text.replaceAll(/\\\n/g, ' ').split('\n');
  const wordsAfter = (instruction: string): string[] =>
    JSON.parse(lines.findLast((line) => line.startsWith(`${instruction} `))!.slice(instruction.length));

  it('copies only files that exist and that its ignore file lets through', () => {
    const ignore = read('Dockerfile.dockerignore').split('\n');
    const copied = lines
      .filter((line) => /^COPY (?!--from)/.test(line))
      .flatMap((line) => line.split(/\s+/).slice(1, -1));
    expect(copied.length).toBeGreaterThan(4);
    for (const path of copied) {
      expect(existsSync(join(ROOT, path)), path).toBe(true);
      expect(ignore).toContain(`!${path}`);
    }
  });

  it('serves on a port of its own as an unprivileged user, and probes it', () => {
    expectServes(wordsAfter('CMD'));
    expectRead([...text.matchAll(/\b(LEASEHOLD_[A-Z]+)/g)].map(([, name]) => name!));
    expect(text).toContain(`LEASEHOLD_LISTEN=0.0.0.0:${PORT}`);
    expect(text).toContain(`EXPOSE ${PORT}\n`);
    expect(text).toMatch(/^USER node$/m);
    expect(text).toContain(`http://127.0.0.1:${PORT}/healthz`);
  });

  it('runs a Node that the package supports', () => {
    expect(Number(/^ARG NODE=(\d+)$/m.exec(text)![1])).toBeGreaterThanOrEqual(
      Number(/\d+/.exec(manifest.engines.node)![0]),
    );
  });
});

describe('the compose file', () => {
  const { services, volumes } = parse(read('compose.yaml'), { merge: true });
  const servers = [services['leasehold-a'], services['leasehold-b']];

  it('runs two servers on one database, each known by the address at which it is reached', () => {
    for (const { command, ports, environment, depends_on, build } of servers) {
      expectServes(command);
      expectRead(Object.keys(environment));
      const [, host, inside] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(ports[0])!;
      expect(command.at(-1)).toBe(`http://127.0.0.1:${host}`);
      expect(Number(inside)).toBe(PORT);
      expect(Object.keys(depends_on)).toEqual(['postgres']);
      expect(existsSync(join(ROOT, 'deploy', build.context, build.dockerfile))).toBe(true);
    }
    expect(servers[0].ports).not.toEqual(servers[1].ports);
    expect(Object.keys(volumes)).toEqual(['postgres']);
  });
});

describe('the systemd unit', () => {
  const text = read('systemd/leasehold.service');

  it('names only variables that `serve` reads', () => {
    const help = serveCommand({} as Shell).helpInformation();
    const named = [...text.matchAll(/\b(LEASEHOLD_[A-Z_]+)=/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(4);
    for (const name of named) expect(help).toContain(name);
  });

  it('starts a server that reloads on SIGHUP and is not restarted where a person is needed', () => {
    const [, words = ''] = /^ExecStart=\/usr\/bin\/env leasehold (.*)$/m.exec(text) ?? [];
    expectServes(words.split(' '));
    expect(text).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
    expect(text).toMatch(/^RestartPreventExitStatus=2 5$/m);
    const [, state] = /^StateDirectory=(.*)$/m.exec(text)!;
    expect(words).toContain(`--data /var/lib/${state} `);
  });

  it('is restarted however often it fails, and sees the uptime, which tells of suspends', () => {
    expect(text).toMatch(/^StartLimitIntervalSec=0$/m);
    expect(text).not.toMatch(/^ProcSubset=pid$/m);
  });
});

describe('the Kubernetes base', () => {
  const folder = join(ROOT, 'deploy', 'kubernetes');
  const { resources, images } = parse(read('kubernetes/kustomization.yaml'));
  // biome-ignore lint/suspicious/noExplicitAny: what a manifest holds is checked below.
  const objects: Record<string, any> = Object.fromEntries(
    resources.map((name: string) => {
      const object = parse(read(`kubernetes/${name}`));
      return [object.kind, object];
    }),
  );
  const { StatefulSet, Service, PodDisruptionBudget } = objects;
  const [container] = StatefulSet.spec.template.spec.containers;

  it('consists of the files in its folder, and runs this version', () => {
    expect([...resources, 'kustomization.yaml'].sort()).toEqual(readdirSync(folder).sort());
    expect(images).toEqual([{ name: container.image, newName: 'leasehold', newTag: manifest.version }]);
  });

  it('selects the pods it creates', () => {
    const { labels } = StatefulSet.spec.template.metadata;
    expect(StatefulSet.spec.selector.matchLabels).toEqual(labels);
    expect(PodDisruptionBudget.spec.selector.matchLabels).toEqual(labels);
    expect(Service.spec.selector).toEqual(labels);
    expect(StatefulSet.spec.serviceName).toBe(Service.metadata.name);
  });

  it('gives `serve` its flags, variables and port', () => {
    expectServes(container.args);
    const names: string[] = container.env.map(({ name }: { name: string }) => name);
    expectRead(names.filter((name) => name !== 'POD_NAME'));
    const [port] = container.ports;
    expect(port.containerPort).toBe(PORT);
    expect(Service.spec.ports[0]).toMatchObject({ port: PORT, targetPort: port.name });
    expect(container.args).toContain(`--advertise=http://$(POD_NAME).${Service.metadata.name}:${PORT}`);
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      expect(container[probe].httpGet).toEqual({ path: '/healthz', port: port.name });
    }
  });

  it('stops in time: the pause before the stop and the longest stop fit into the grace period', () => {
    const [, pause] = container.lifecycle.preStop.exec.command;
    expect(Number(pause) + 15).toBeLessThanOrEqual(
      StatefulSet.spec.template.spec.terminationGracePeriodSeconds,
    );
  });

  it('lets a node be drained: a budget that one server may be missing from', () => {
    expect(StatefulSet.spec.replicas).toBeGreaterThan(PodDisruptionBudget.spec.maxUnavailable);
  });
});
