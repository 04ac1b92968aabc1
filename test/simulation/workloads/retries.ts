/**
 * The same call with the same ids, sent again and again, at once and later: it must count once. Whatever the second answer
 * is, it may not contradict the first.
 */
import type { Requests } from '../../../src/operations/table.ts';
import type { ClientProgram } from '../world/client-program.ts';

type Acquire = Requests['lease.acquire'];

export async function retries(program: ClientProgram): Promise<void> {
  const { random } = program;
  await program.rounds(async () => {
    if (random.chance(0.5)) await sameGrant(program);
    else await sameTask(program);
    await program.sleep(1, 400);
  });
}

async function sameGrant(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('acquiring twice');
  const grant = {
    name: `own:${client}:${random.below(3)}`,
    holder: client,
    token: random.token() + random.token(),
  };
  const request: Acquire = { ...grant, ttl_ms: random.between(500, 5_000) };
  const isAtOnce = random.chance(0.5);
  const ask = () => program.bear(() => leasehold.call('lease.acquire', request));
  const calls = isAtOnce ? [ask(), ask()] : [ask()];
  const answers = await Promise.all(calls);
  if (!isAtOnce) {
    await program.sleep(1, 300);
    answers.push(await ask());
  }
  const numbers = answers.flatMap((answer) => (answer?.ok ? [answer.lease_seq] : []));
  // Two numbers for one token are allowed only if the name was forgotten in between; the checker of tokens knows.
  if (random.chance(0.3)) await twin(program, request, Math.max(0, ...numbers));
  await leasehold.call('lease.release', grant);
  const late = await ask();
  if (late?.ok) {
    // It may repeat a grant that it has won itself, when the first answer to it was lost.
    const isOld = late.duplicate === true && numbers.includes(late.lease_seq);
    program.expect(!isOld, 'A grant that was given back is called live.');
  }
  if (late?.ok) await leasehold.call('lease.release', grant);
}

/** The same holder with another token is another caller: it gets its own grant, and the first one is stale. */
async function twin(program: ClientProgram, request: Acquire, first: number): Promise<void> {
  const { leasehold, random } = program;
  const token = random.token() + random.token();
  const second = await leasehold.call('lease.acquire', { ...request, token });
  if (!second.ok) return;
  program.expect(second.lease_seq > first, `A twin shares the number ${first}.`);
  await leasehold.call('lease.release', { name: request.name, holder: request.holder, token });
}

async function sameTask(program: ClientProgram): Promise<void> {
  const { leasehold, random, client } = program;
  program.doing('creating twice');
  const task_id = `own-${client}-${random.token()}`;
  const queue = `own-${client}`;
  const create = () => leasehold.call('task.create', { task_id, queue, payload: { client } });
  const made = await program.bear(create);
  const again = await create();
  program.expect(again.ok || again.code === 'DISK_FULL', 'A task made twice is refused.');
  if (made?.ok && again.ok) program.expect(again.duplicate === true, 'A task was made twice.');
  const request_id = random.token();
  const lease = () =>
    leasehold.call('task.lease', { worker_id: client, queues: [queue], ttl_ms: 3_000, request_id, max: 1 });
  const first = await program.bear(lease);
  const second = await program.bear(lease);
  const [one, two] = [first, second].map((reply) => (reply?.ok ? reply.leases[0] : undefined));
  if (one !== undefined && two !== undefined) {
    const isSame = one.lease_seq === two.lease_seq || one.lease_seq < two.lease_seq;
    program.expect(isSame, 'A repeated request was given an older lease.');
  }
  const taken = two ?? one;
  if (taken === undefined) return;
  const { task_id: id, lease_id } = taken;
  const complete = () => leasehold.call('task.complete', { task_id: id, lease_id, result: 1 });
  const ended = await program.bear(complete);
  const endedAgain = await complete();
  if (ended?.ok && endedAgain.ok) {
    const isSame = ended.outcome === endedAgain.outcome;
    program.expect(isSame, `A completion was ${ended.outcome}, and then ${endedAgain.outcome}.`);
  }
}
