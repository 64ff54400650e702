/** Beats of a tenant that may have one at a time, against each other and against frozen ones. */
import { expect, test } from "vitest";
import { beatInPlace } from "../../src/engine/loop/beat-in-place.ts";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import { executionName } from "../../src/protocol/ids.ts";
import type { Row } from "../../src/protocol/row.ts";
import { freezeAtCall } from "../support/faults/freeze-at-call.ts";
import { runnerOf } from "../support/harness/drive.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import {
  type Harness,
  createChainHarness,
  scriptedAgent,
  type StartedAttempt,
  attemptOf,
} from "../support/harness/harness.ts";

/** An agent whose calls return when the test says so. */
function gatedAgent() {
  const calls: { readonly run: string; readonly epoch: number; readonly release: () => void }[] = [];
  const agent = scriptedAgent({
    run: async ({ run, epoch }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      calls.push({ run, epoch, release: resolve });
      await promise;
      return "acted";
    },
  });
  return { agent, calls };
}

/** One attempt of the next beat that is ready, or of that run, in a place of its tenant. */
function begin(harness: Harness, agent: Agent, of: { readonly world?: World; readonly row?: Row } = {}) {
  const { world = harness.world, row } = of;
  const name = row === undefined ? null : executionName(row.run, row.born, row.chain);
  const out = name === null ? harness.startAttempt() : attemptOf(harness.world, name);
  if (out.task.kind !== "beat") throw new Error(`the chain asks for ${out.task.kind}`);
  const { clock, limits } = harness.world;
  const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
  const result = beatInPlace(runnerOf(world, agent), { local: 1 }, { task: out.task, invocation });
  result.catch(() => undefined);
  return { out, result };
}

type Begun = ReturnType<typeof begin>;

async function finish(
  harness: Harness,
  { out, result }: { readonly out: StartedAttempt; readonly result: Begun["result"] },
) {
  const ended = await harness.advanceUntilSettled(result);
  out.end(ended);
  return ended.reply.route;
}

async function untilIdle(harness: Harness, agent: Agent): Promise<void> {
  for (let tasks = 0; harness.world.chain.next() !== null; tasks += 1) {
    if (tasks === 40) throw new Error("it goes on after 40 tasks");
    await finish(harness, begin(harness, agent));
  }
}

test("schedule 276: two beats of a tenant read that one place is left; one begins, and the other one waits", async () => {
  const harness = createChainHarness();
  const { agent, calls } = gatedAgent();
  const first = await startKeyedRun(harness.world, { agent, key: "first" });
  const second = await startKeyedRun(harness.world, { agent, key: "second" });
  const frozen = freezeAtCall(harness.world, { at: 0, when: "after" });
  let reads = 0;
  // The first read of the places freezes; what comes after it goes on as ever.
  const get: World["records"]["get"] = (...of) => {
    reads += 1;
    return (reads === 1 ? frozen.world : harness.world).records.get(...of);
  };
  const world = { ...harness.world, records: { ...harness.world.records, get } };
  const late = begin(harness, agent, { world });
  expect(await frozen.freezes(late.result)).toBe(true);
  const early = begin(harness, agent);
  await expect.poll(() => calls.length).toBe(1);
  frozen.thaw();
  expect(await finish(harness, late)).toBe("wait");
  expect(calls).toMatchObject([{ run: second.run }]);
  expect(harness.row(first.run)).toMatchObject({ status: "queued", epoch: 0 });
  calls[0]?.release();
  await finish(harness, early);
  await untilIdle(harness, atOnce(agent));
  for (const { run } of [first, second]) expect(harness.row(run).status).toBe("completed");
});

/** The same agent, whose calls return at once. */
const atOnce = (agent: Agent): Agent => ({
  ...agent,
  tools: { act: { ...(agent.tools["act"] as Tool), run: () => "acted" } },
});

test("schedule 279: a beat freezes with the only place of its tenant; its retry has that place until it ends", async () => {
  const harness = createChainHarness();
  const { agent, calls } = gatedAgent();
  const row = await startKeyedRun(harness.world, { agent, key: "first" });
  const { run } = row;
  const frozen = begin(harness, agent);
  await expect.poll(() => calls.length).toBe(1);
  // The chain takes it for dead. Another run of the tenant asks for the place before the retry comes.
  frozen.out.end(null);
  const other = await startKeyedRun(harness.world, { agent, key: "other" });
  expect(await finish(harness, begin(harness, agent, { row: other }))).toBe("wait");
  // The retry waits for nothing.
  const retry = begin(harness, agent, { row });
  expect(retry.out.task).toMatchObject({
    payload: { run },
    attempt: { retry: expect.toSatisfy((count) => count > 0) },
  });
  await expect.poll(() => calls.length).toBe(2);
  expect(harness.row(run)).toMatchObject({ takeovers: 1 });
  // The frozen beat thaws, and finds that it has lost its run. The place is not its own any more.
  calls[0]?.release();
  expect((await harness.advanceUntilSettled(frozen.result)).reply.route).toBe("superseded");
  expect(await finish(harness, begin(harness, agent, { row: other }))).toBe("wait");
  calls[1]?.release();
  await finish(harness, retry);
  await untilIdle(harness, atOnce(agent));
  for (const id of [run, other.run]) expect(harness.row(id).status).toBe("completed");
});
