/** What a run did is undone: in which order, when, and whatever dies in between. */
import { expect, test } from "vitest";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { OutcomeUnknown, check } from "../../src/index.ts";
import type { World } from "../../src/ports/world.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { forEachCrashPoint, crashAtCall } from "../support/faults/crash-at-call.ts";
import { replyWithCalls, sideEffectAgent } from "../support/agents/side-effect-agent.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  type ScriptedAgentOptions,
  type Harness,
  scriptedAgent,
  createChainHarness,
  createHarness,
} from "../support/harness/harness.ts";
import { beforeCall, enterTool, recoveryRulesOf } from "../support/harness/chain-steps.ts";

const NEVER = [check("never", () => "it never is")];

/** Three payments that stand when the run fails, each undone by a desk that knows keys. */
function paying() {
  const undone = new Map<string, string>();
  let runs = 0;
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 7]], [["pay", "cyd", 9]]),
    done: NEVER,
    pay: {
      undo: {
        effect: "keyed",
        run: ({ input: { to }, key }) => {
          runs += 1;
          undone.set(key, to);
        },
      },
    },
  });
  return { ...made, undone, runs: () => runs };
}

/** As a chain drives it to its end, from wherever it is. */
async function driven(harness: Harness, of: { readonly agent: Agent; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    const { run, born, chain, epoch, agent, wakeAt } = harness.row(of.run);
    harness.clock.moveTo(Math.max(harness.clock.now(), wakeAt ?? 0));
    const { route } = await harness.advanceUntilSettled(
      drive(runnerOf(harness.world, of.agent), { run, born, chain, epoch, agent }),
    );
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

test("schedule 68: a process dies between two undos; the rest is undone newest first, and nothing twice", async () => {
  const calm = paying();
  const harness = createHarness();
  await driven(harness, { agent: calm.agent, run: (await beginRun(harness.world, calm.agent, {})).run });
  expect({ runs: calm.runs(), undone: [...calm.undone.values()] }).toEqual({ runs: 3, undone: ["cyd", "bob", "ada"] });
  const crashes = await forEachCrashPoint(async (crash) => {
    const here = createHarness();
    const { agent, undone, done } = paying();
    const payload = await beginRun(here.world, agent, {});
    const { world, survives } = crashAtCall(here.world, crash);
    const isOver = await here.advanceUntilSettled(
      survives((mine) => drive(runnerOf({ ...world, ...mine }, agent), payload)),
    );
    if (!isOver) expect(await driven(here, { agent, run: payload.run })).toBe("failed");
    expect([...undone.values()]).toEqual(["cyd", "bob", "ada"]);
    expect(new Set(done.map(({ key }) => key)).size).toBe(3);
    return isOver;
  });
  expect(crashes).toBeGreaterThan(20);
});

/** Its one call can be undone; what happens outside is noted in order. */
function undoable(part: ScriptedAgentOptions, rules: Partial<Pick<Tool, "onUnknown">> = {}) {
  const outside: string[] = [];
  const agent = scriptedAgent({ done: NEVER, ...part });
  const undo: Tool["undo"] = { effect: "keyed", run: () => outside.push("undone") };
  return { outside, agent: { ...agent, tools: { act: { ...(agent.tools["act"] as Tool), ...rules, undo } } } };
}

/** Attempts leave as long as one may without the passing of time. */
async function untilItWaits(harness: Harness, agent: Agent): Promise<void> {
  while ((harness.world.chain.next() ?? Infinity) <= harness.clock.now()) await harness.runAttempt(agent);
}

/** The owner of the call is frozen before it acts, and thaws when everybody else waits. */
async function thawing({ agent, outside }: ReturnType<typeof undoable>) {
  const harness = createChainHarness();
  const { run } = await beginRun(harness.world, agent, {});
  const frozen = await enterTool(harness, agent);
  frozen.out.end(null);
  await untilItWaits(harness, agent);
  // It thaws inside its lease, and what it sends lands.
  outside.push("done");
  await harness.runUntilIdle(agent);
  return [harness.row(run).status, outside];
}

test("schedule 69: the owner of a call is frozen, everything is undone, and then it acts", async () => {
  const unknown = undoable({ effect: "unsafe" }, { onUnknown: "compensate" });
  expect(await thawing(unknown)).toEqual(["failed", ["done", "undone"]]);
  // It failed when it was tried again, which says nothing of the first try.
  const refuses = () => Promise.reject(new Error("the desk is closed"));
  expect(await thawing(undoable({ effect: "keyed", run: refuses }))).toEqual(["failed", ["done", "undone"]]);
});

/** A run that waits for a person, and what it did so far can be undone. */
async function blocked() {
  const harness = createChainHarness();
  const { agent, outside } = undoable({
    effect: "unsafe",
    run: () => {
      throw new OutcomeUnknown("the line went dead");
    },
  });
  const { run } = await beginRun(harness.world, agent, {});
  await untilItWaits(harness, agent);
  expect(harness.row(run).status).toBe("blocked");
  return { harness, agent, outside, run };
}

const undoFirst = (world: World, run: string) => requestCompensation(world, { run, next: "cancel", by: "ann" });

test("schedule 75: an operator cancels with compensation; the run continues between the two requests, or is about to end", async () => {
  const { harness, agent, outside, run } = await blocked();
  const between = async (): Promise<void> => untilItWaits(harness, agent);
  const slow = beforeCall(beforeCall(harness.world, "deliver", between), "request", between);
  expect(await undoFirst(slow, run)).toBe("accepted");
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, outside }).toEqual({ status: "cancelled", outside: ["undone"] });
  // Another one, that somebody else cancels without: the wish comes right before its end is committed.
  const other = await blocked();
  await sendRequest(other.harness.world, { run: other.run, want: "cancel" });
  const act = async () => undoFirst(other.harness.world, other.run);
  const world = beforeCall(other.harness.world, "commit", act, ({ status }) => status === "cancelled");
  await other.harness.runAttempt(other.agent, world);
  await other.harness.runUntilIdle(other.agent);
  expect({ status: other.harness.row(other.run).status, outside: other.outside }).toEqual({
    status: "cancelled",
    outside: ["undone"],
  });
  expect(await recoveryRulesOf(other.harness.world, other.run)).toContain("effects are undone");
});
