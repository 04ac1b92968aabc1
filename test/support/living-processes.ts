// The processes of a machine as a process table shows them, with their environments, for tests without processes.
import type { LivingProcess, ProcessTable } from '../../src/seams/process-table.ts';

interface Started {
  readonly pid: number;
  /** Itself unless given: it has begun a group of its own. */
  readonly group?: number;
  readonly startTime?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How many kills it survives, as one that hangs in the kernel does. */
  readonly survives?: number;
}

export class LivingProcesses implements Pick<ProcessTable, 'living' | 'killGroupOf'> {
  /** Groups in the order in which they were killed. */
  readonly killed: number[] = [];
  /** The system shows no processes. */
  isBlind = false;
  /** Runs during a look, after the processes were read. */
  meanwhile: () => Promise<unknown> = async () => undefined;
  private processes: Required<Started>[] = [];

  start({ pid, group = pid, startTime = `${pid}`, env = {}, survives = 0 }: Started): void {
    this.processes.push({ pid, group, startTime, env, survives });
  }

  get pids(): number[] {
    return this.processes.map(({ pid }) => pid);
  }

  readonly living: ProcessTable['living'] = async (mark) => {
    const found = this.processes.map(
      ({ pid, group, startTime, env }): LivingProcess => ({
        pid,
        group,
        startTime,
        isMarked: Object.entries(mark).every(([name, value]) => env[name] === value),
      }),
    );
    await this.meanwhile();
    return this.isBlind ? null : found;
  };

  readonly killGroupOf: ProcessTable['killGroupOf'] = ({ group }) => {
    this.killed.push(group);
    this.processes = this.processes.flatMap((each) => {
      if (each.group !== group) return [each];
      return each.survives > 0 ? [{ ...each, survives: each.survives - 1 }] : [];
    });
  };
}
