/** What the functions of a tool see of the run of their call. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { OutcomeUnknown, type CallContext, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { FINAL_REPLY, type Harness, beatReply, createHarness, dieInTool } from "../../support/harness/harness.ts";

const TASK = { customer: "ada", notes: "x".repeat(10) };
/** It is kept as an object of its own. */
const LARGE = { ...TASK, notes: "x".repeat(10_000) };

/** What each function of the tool saw, in order. */
interface Seen extends CallContext {
  readonly by: string;
  readonly attempt?: number;
}

function watchedAgent(part: Partial<Tool> & Pick<Tool, "effect">) {
  const seen: Seen[] = [];
  const note = (by: string, { run, task, restart }: CallContext): void => void seen.push({ by, run, task, restart });
  const agent = defineAgent({
    name: "actor",
    version: "1",
    instructions: "",
    task: z.object({ customer: z.string(), notes: z.string() }),
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : FINAL_REPLY),
    }),
    tools: {
      act: tool({
        input: z.object({}),
        ...part,
        run: (context) => {
          const { run, task, restart, attempt } = context;
          seen.push({ by: "run", run, task: structuredClone(task), restart, attempt });
          return part.run === undefined ? "acted" : part.run(context);
        },
        ...(part.probe && {
          probe: (context) => {
            note("probe", context);
            return { kind: "absent" as const };
          },
        }),
        key: (_, context) => {
          note("key", context);
          return null;
        },
        approval: (_, context) => {
          note("approval", context);
          return false;
        },
      }),
    },
  }) as Agent;
  return { agent, seen };
}

const played = async (harness: Harness, agent: Agent, task: typeof TASK = TASK) =>
  harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, task)));

const attemptsIn = (seen: readonly Seen[]) => seen.flatMap(({ attempt }) => attempt ?? []);

describe("the functions of a tool", () => {
  test.each([
    ["small", TASK],
    ["large", LARGE],
  ])("key, approval and run see the run and its %s task", async (_, task) => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({ effect: "keyed" });
    const { run } = await played(harness, agent, task);
    const of = { run, task, restart: 1 };
    expect(seen).toEqual([
      { by: "approval", ...of },
      { by: "key", ...of },
      { by: "run", ...of, attempt: 1 },
    ]);
  });

  test.each([
    ["small", TASK],
    ["large", LARGE],
  ])("the %s task that a function gets is a copy", async (_, task) => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({
      effect: "keyed",
      run: ({ task, attempt }) => {
        Object.assign(task as object, { customer: "eve" });
        if (attempt === 1) throw new OutcomeUnknown("the answer was lost");
        return "acted";
      },
    });
    await played(harness, agent, task);
    expect(seen.filter(({ attempt }) => attempt === 2)).toMatchObject([{ task }]);
  });
});

describe("the number of the attempt", () => {
  test("rises with each attempt that gave no answer", async () => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({
      effect: "keyed",
      run: ({ attempt }) => {
        if (attempt < 3) throw new OutcomeUnknown("the answer was lost");
        return "acted";
      },
    });
    await played(harness, agent);
    expect(attemptsIn(seen)).toEqual([1, 2, 3]);
  });

  test("is above 1 after the process died in an earlier attempt", async () => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({ effect: "keyed" });
    const payload = await beginRun(harness.world, agent, TASK);
    await dieInTool(harness, { payload, agent });
    await attemptBeat(runnerOf(harness.world, agent), payload, 1);
    expect(attemptsIn(seen)).toEqual([2]);
  });

  test("is above 1 after a probe said that the call did not happen, and the probe sees the run", async () => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({ effect: "probed", probe: () => ({ kind: "absent" }) });
    const payload = await beginRun(harness.world, agent, TASK);
    await dieInTool(harness, { payload, agent });
    const runner = runnerOf(harness.world, agent);
    const waiting = await beatReply(attemptBeat(runner, payload, 1));
    harness.clock.moveTo(harness.clock.now() + 60_000);
    await harness.advanceUntilSettled(drive(runner, waiting));
    expect(seen.filter(({ by }) => by === "probe")).toEqual([
      { by: "probe", run: payload.run, task: TASK, restart: 1 },
    ]);
    expect(attemptsIn(seen)).toEqual([2]);
  });

  test("is above 1 after an operator let an unknown call run again", async () => {
    const harness = createHarness();
    const { agent, seen } = watchedAgent({
      effect: "unsafe",
      run: ({ attempt }) => {
        if (attempt === 1) throw new OutcomeUnknown("the answer was lost");
        return "acted";
      },
    });
    const parked = await played(harness, agent);
    harness.clock.moveTo(harness.clock.now() + 60_000);
    const again = { run: parked.run, call: "c1", as: "retry" as const, result: null, by: "ann", note: null };
    await reconcile(harness.world, again);
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), parked));
    expect(attemptsIn(seen)).toEqual([1, 2]);
  });
});
