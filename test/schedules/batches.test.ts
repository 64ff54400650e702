/** Calls that run side by side across deaths and outages: what is known is kept, and what may still act ends. */
import { expect, test, vi } from "vitest";
import { invocation } from "../../functions/invocation.ts";
import type { Agent, ToolContext } from "../../src/ports/agent.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { beat } from "../../src/engine/loop/beat.ts";
import { ledger } from "../../src/operations/views.ts";
import { attemptBeat, beginRun, killableWorld, runnerOf } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type ScriptedAgentOptions,
  type Harness,
  scriptedAgent,
  createChainHarness,
  neverSettles,
  createHarness,
  flushPromises,
} from "../support/harness/harness.ts";
import { wrapTableCall } from "../support/harness/chain-steps.ts";

type Run = (context: ToolContext<unknown>) => unknown;

const CALL = { tool: "act", args: {} } as const;

/** An agent whose first reply asks for two unsafe calls; the first and the second start do what is given. */
function twoCalls(first: Run, second: Run): { readonly agent: Agent; readonly starts: () => number } {
  let starts = 0;
  const run: Run = (context) => {
    starts += 1;
    return starts === 1 ? first(context) : second(context);
  };
  const reply: ScriptedAgentOptions["reply"] = ({ calls }) =>
    calls.length === 0 ? { calls: [CALL, CALL] } : FINAL_REPLY;
  return { agent: scriptedAgent({ effect: "unsafe", run, reply, timeoutMs: 400 }), starts: () => starts };
}

/** A table that takes no commit while it is away. */
const awayWhen = (world: World, isAway: () => boolean): World =>
  wrapTableCall(world, "commit", (commit) => async (asked) => {
    if (isAway()) throw new StoreUnreachable("the table does not answer");
    return commit(asked);
  });

async function dieWaiting(harness: Harness, agent: Agent): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt(agent, world);
  kill();
}

test("schedule 76: one call of two returns and the process dies in the other; the result of the first is kept", async () => {
  const harness = createChainHarness();
  const { agent, starts } = twoCalls(() => "sent", neverSettles);
  const { run } = await beginRun(harness.world, agent, {});
  await dieWaiting(harness, agent);
  await harness.runUntilIdle(agent);
  // A human is asked about the call that gave no answer, and about no other.
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded" }, { status: "unknown" }]);
  expect({ status: harness.row(run).status, starts: starts() }).toEqual({ status: "blocked", starts: 2 });
});

test("schedule 77: the commit between two results fails while a call runs; the invocation ends when that call has ended", async () => {
  const harness = createHarness();
  const returned = Promise.withResolvers<string>();
  let isAway = false;
  const { agent, starts } = twoCalls(
    () => {
      isAway = true;
      return "sent";
    },
    () => returned.promise,
  );
  const payload = await beginRun(harness.world, agent, {});
  let isOver = false;
  const done = attemptBeat(
    runnerOf(
      awayWhen(harness.world, () => isAway),
      agent,
    ),
    payload,
  ).finally(() => {
    isOver = true;
  });
  done.catch(() => undefined);
  await flushPromises();
  expect({ starts: starts(), isOver }).toEqual({ starts: 2, isOver: false });
  returned.resolve("sent as well");
  await expect(done).rejects.toThrow(StoreUnreachable);
});

test("schedule 78: a call outlives its timeout, and the run cannot be released; the process ends before the call acts", async () => {
  const harness = createHarness();
  const effects: string[] = [];
  const thawed = Promise.withResolvers<void>();
  let isAway = false;
  const late: Run = async ({ key }) => {
    isAway = true;
    await thawed.promise;
    effects.push(key);
  };
  const { agent } = twoCalls(late, late);
  const payload = await beginRun(harness.world, agent, {});
  const runner = runnerOf(
    awayWhen(harness.world, () => isAway),
    agent,
  );
  const task = { payload, attempt: { execution: "warm", epoch: 0, retry: 0 } };
  const { limits, clock } = harness.world;
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const exit = vi.spyOn(process, "exit").mockImplementation(() => {
    throw new Error("this process is gone");
  });
  try {
    // A warm process of Lambda serves the next invocation after one that threw, unless it ends.
    const warm = invocation(
      { world: harness.world, context: { getRemainingTimeInMillis: () => limits.beatMs } },
      (own) => beat(runner, task, { ...own, deadline: clock.now() + limits.beatMs }),
    );
    await expect(harness.advanceUntilSettled(warm)).rejects.toThrow("this process is gone");
    expect({ exits: exit.mock.calls, effects }).toEqual({ exits: [[1]], effects: [] });
  } finally {
    vi.restoreAllMocks();
  }
});
