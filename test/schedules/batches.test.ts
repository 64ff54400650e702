/** Calls that run side by side across deaths and outages: what is known is kept, and what may still act ends. */
import { expect, test, vi } from "vitest";
import { invocation } from "../../functions/invocation.ts";
import type { Agent, ToolContext } from "../../src/ports/agent.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { beat } from "../../src/engine/loop/beat.ts";
import { ledger } from "../../src/operations/views.ts";
import { attempt, begin, mortal, runnerOf } from "../support/drive.ts";
import { OVER, type Part, type Stage, actor, chainedStage, never, passing, rowOf, stage } from "../support/stage.ts";
import { lose, meeting, playOut, rest } from "../support/steps.ts";

type Run = (context: ToolContext<unknown>) => unknown;

const CALL = { tool: "act", args: {} } as const;

/** An agent whose first reply asks for two unsafe calls; the first and the second start do what is given. */
function twoCalls(first: Run, second: Run): { readonly agent: Agent; readonly starts: () => number } {
  let starts = 0;
  const run: Run = (context) => {
    starts += 1;
    return starts === 1 ? first(context) : second(context);
  };
  const reply: Part["reply"] = ({ calls }) => (calls.length === 0 ? { calls: [CALL, CALL] } : OVER);
  return { agent: actor({ effect: "unsafe", run, reply, timeoutMs: 400 }), starts: () => starts };
}

/** A table that takes no commit while it is away. */
const awayWhen = (world: World, isAway: () => boolean): World =>
  meeting(world, "commit", (commit) => async (asked) => {
    if (isAway()) throw new StoreUnreachable("the table does not answer");
    return commit(asked);
  });

async function dieWaiting(on: Stage, agent: Agent): Promise<void> {
  const { world, kill } = mortal(on.world);
  await lose(on, agent, world);
  kill();
}

test("schedule 76: one call of two returns, and the process dies in the other; the result of the first is kept", async () => {
  const on = chainedStage();
  const { agent, starts } = twoCalls(() => "sent", never);
  const { run } = await begin(on.world, agent, {});
  await dieWaiting(on, agent);
  await playOut(on, agent);
  // A human is asked about the call that gave no answer, and about no other.
  expect(await ledger(on.world, run)).toMatchObject([{ status: "succeeded" }, { status: "unknown" }]);
  expect([rowOf(on, run).status, starts()]).toEqual(["blocked", 2]);
});

test("schedule 77: the commit between two results fails while a call runs; the invocation ends when that call has ended", async () => {
  const on = stage();
  const returned = Promise.withResolvers<string>();
  let isAway = false;
  const { agent, starts } = twoCalls(
    () => {
      isAway = true;
      return "sent";
    },
    () => returned.promise,
  );
  const payload = await begin(on.world, agent, {});
  let isOver = false;
  const done = attempt(
    runnerOf(
      awayWhen(on.world, () => isAway),
      agent,
    ),
    payload,
  ).finally(() => {
    isOver = true;
  });
  done.catch(() => undefined);
  await rest();
  expect([starts(), isOver]).toEqual([2, false]);
  returned.resolve("sent as well");
  await expect(done).rejects.toThrow(StoreUnreachable);
});

test("schedule 78: a call outlives its timeout, and the run cannot be released; the process ends before the call acts", async () => {
  const on = stage();
  const effects: string[] = [];
  const thawed = Promise.withResolvers<void>();
  let isAway = false;
  const late: Run = async ({ key }) => {
    isAway = true;
    await thawed.promise;
    effects.push(key);
  };
  const { agent } = twoCalls(late, late);
  const payload = await begin(on.world, agent, {});
  const runner = runnerOf(
    awayWhen(on.world, () => isAway),
    agent,
  );
  const task = { payload, attempt: { execution: "warm", epoch: 0, retry: 0 } };
  const { limits, clock } = on.world;
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const exit = vi.spyOn(process, "exit").mockImplementation(() => {
    throw new Error("this process is gone");
  });
  try {
    // A warm process of Lambda serves the next invocation after one that threw, unless it ends.
    const warm = invocation({ world: on.world, context: { getRemainingTimeInMillis: () => limits.beatMs } }, (own) =>
      beat(runner, task, { ...own, deadline: clock.now() + limits.beatMs }),
    );
    await expect(passing(on, warm)).rejects.toThrow("this process is gone");
    expect([exit.mock.calls, effects]).toEqual([[[1]], []]);
  } finally {
    vi.restoreAllMocks();
  }
});
