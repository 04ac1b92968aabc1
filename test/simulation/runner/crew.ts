// A few child processes that run plans side by side. A child that dies or takes too long fails its plan and is replaced:
// a bug that makes a run endless is found like any other.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Job, Outcome } from './run-plan.ts';

/** One change to the text of one source file. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string;
  /** Must be there exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface CrewOptions {
  readonly size: number;
  readonly edits?: readonly Edit[];
  /** After so long a plan has failed. */
  readonly limitMs?: number;
  /** How many plans one child runs. */
  readonly plansMax?: number;
}

interface Waiting {
  readonly job: Job;
  readonly done: (outcome: Outcome) => void;
}

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url));
const LIMIT_MS = 120_000;
/** The tables of a world lie in memory that the collector is in no hurry to give back; a process that ends gives it back. */
const PLANS_MAX = 50;
/** What is kept of what a child says before it dies. */
const WORDS_MAX = 4_000;

export class Crew {
  private readonly options: CrewOptions;
  private readonly queue: Waiting[] = [];
  private readonly members = new Set<Member>();

  constructor(options: CrewOptions) {
    this.options = options;
  }

  run(job: Job): Promise<Outcome> {
    return new Promise((done) => {
      this.queue.push({ job, done });
      this.assign();
    });
  }

  close(): void {
    for (const member of this.members) member.stop();
    this.members.clear();
  }

  private assign(): void {
    for (const member of this.members) if (member.isIdle) this.give(member);
    while (this.queue.length > 0 && this.members.size < this.options.size) {
      const member = new Member(this.options);
      this.members.add(member);
      this.give(member);
    }
  }

  private give(member: Member): void {
    const next = this.queue.shift();
    if (next === undefined) return;
    void member.run(next.job).then((outcome) => {
      if (!member.isAlive) this.members.delete(member);
      next.done(outcome);
      this.assign();
    });
  }
}

/** One child process. */
class Member {
  isIdle = true;
  isAlive = true;
  private readonly child: ChildProcess;
  private readonly limitMs: number;
  private plansLeft: number;
  private words = '';

  constructor({ edits = [], limitMs = LIMIT_MS, plansMax = PLANS_MAX }: CrewOptions) {
    this.limitMs = limitMs;
    this.plansLeft = plansMax;
    this.child = fork(CHILD, {
      execArgv: ['--enable-source-maps'],
      env: { ...process.env, LEASEHOLD_SIMULATION_EDITS: JSON.stringify(edits) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const hear = (chunk: Buffer): void => {
      this.words = (this.words + chunk.toString()).slice(-WORDS_MAX);
    };
    this.child.stdout?.on('data', hear);
    this.child.stderr?.on('data', hear);
  }

  run(job: Job): Promise<Outcome> {
    this.isIdle = false;
    const { child } = this;
    return new Promise((resolve) => {
      const finish = (outcome: Outcome): void => {
        clearTimeout(timer);
        child.off('message', hear);
        child.off('close', fail);
        this.plansLeft -= 1;
        if (this.plansLeft === 0) this.stop();
        this.isIdle = this.isAlive;
        resolve(outcome);
      };
      const hear = (message: Outcome | 'ready'): void => {
        if (message === 'ready') child.send(job);
        else finish(message);
      };
      const fail = (): void => {
        this.isAlive = false;
        finish(failed(job, 'child', `The process ended: ${this.words.trim()}`));
      };
      const timer = setTimeout(() => {
        this.stop();
        finish(failed(job, 'endless', `The run did not end within ${this.limitMs} ms.`));
      }, this.limitMs);
      child.on('message', hear);
      child.on('close', fail);
      if (this.isReady) child.send(job);
      this.isReady = true;
    });
  }

  /** Said to be ready once; from then on a job can be sent at once. */
  private isReady = false;

  stop(): void {
    this.isAlive = false;
    this.child.removeAllListeners();
    this.child.kill('SIGKILL');
  }
}

function failed({ plan }: Job, checker: string, says: string): Outcome {
  return {
    seed: typeof plan === 'number' ? plan : plan.seed,
    hash: '',
    findings: [{ checker, says, proof: [] }],
    tail: [],
    counts: { steps: 0, calls: 0, faults: 0, simMs: 0 },
    seen: {},
    tookMs: 0,
  };
}
