/** What a run did is undone: in which order, when, and whatever dies in between. */
import { expect, test } from "vitest";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { OutcomeUnknown, check } from "../../src/index.ts";
import type { World } from "../../src/ports/world.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { everyCrash, dying } from "../support/crashing.ts";
import { asks, deeds } from "../support/deeds.ts";
import { begin, drive, runnerOf } from "../support/drive.ts";
import { type Part, type Stage, actor, beforeCommit, chainedStage, passing, rowOf, stage } from "../support/stage.ts";
import { beforeCall, enterTool, hear, playOut, rulesOf, step } from "../support/steps.ts";

const NEVER = [check("never", () => "it never is")];

/** Three payments that stand when the run fails, each undone by a desk that knows keys. */
function paying() {
  const undone = new Map<string, string>();
  let runs = 0;
  const made = deeds({
    reply: asks([["pay", "ada", 5]], [["pay", "bob", 7]], [["pay", "cyd", 9]]),
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
async function driven(on: Stage, of: { readonly agent: Agent; readonly run: string }): Promise<string> {
  for (let count = 0; count < 20; count += 1) {
    const { run, born, chain, epoch, agent, wakeAt } = rowOf(on, of.run);
    on.clock.moveTo(Math.max(on.clock.now(), wakeAt ?? 0));
    const { route } = await passing(on, drive(runnerOf(on.world, of.agent), { run, born, chain, epoch, agent }));
    if (route !== "wait") return route;
  }
  throw new Error("it waits for ever");
}

test("schedule 68: a process dies between two undos; what is left is undone, newest first, and nothing twice", async () => {
  const calm = paying();
  const on = stage();
  await driven(on, { agent: calm.agent, run: (await begin(on.world, calm.agent, {})).run });
  expect([calm.runs(), [...calm.undone.values()]]).toEqual([3, ["cyd", "bob", "ada"]]);
  const crashes = await everyCrash(async (crash) => {
    const here = stage();
    const { agent, undone, done } = paying();
    const payload = await begin(here.world, agent, {});
    const { world, survives } = dying(here.world, crash);
    const isOver = await passing(
      here,
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
function undoable(part: Part, rules: Partial<Pick<Tool, "onUnknown">> = {}) {
  const outside: string[] = [];
  const agent = actor({ done: NEVER, ...part });
  const undo: Tool["undo"] = { effect: "keyed", run: () => outside.push("undone") };
  return { outside, agent: { ...agent, tools: { act: { ...(agent.tools["act"] as Tool), ...rules, undo } } } };
}

/** Attempts leave as long as one may without the passing of time. */
async function untilItWaits(on: Stage, agent: Agent): Promise<void> {
  while ((on.world.chain.next() ?? Infinity) <= on.clock.now()) await step(on, agent);
}

/** The owner of the call is frozen before it acts, and thaws when everybody else waits. */
async function thawing({ agent, outside }: ReturnType<typeof undoable>) {
  const on = chainedStage();
  const { run } = await begin(on.world, agent, {});
  const frozen = await enterTool(on, agent);
  hear(on, frozen.out, null);
  await untilItWaits(on, agent);
  // It thaws inside its lease, and what it sends lands.
  outside.push("done");
  await playOut(on, agent);
  return [rowOf(on, run).status, outside];
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
  const on = chainedStage();
  const { agent, outside } = undoable({
    effect: "unsafe",
    run: () => {
      throw new OutcomeUnknown("the line went dead");
    },
  });
  const { run } = await begin(on.world, agent, {});
  await untilItWaits(on, agent);
  expect(rowOf(on, run).status).toBe("blocked");
  return { on, agent, outside, run };
}

const undoFirst = (world: World, run: string) => requestCompensation(world, { run, next: "cancel", by: "ann" });

test("schedule 75: somebody cancels and wants it undone; the run goes on between the two, or is about to end", async () => {
  const { on, agent, outside, run } = await blocked();
  const between = async (): Promise<void> => untilItWaits(on, agent);
  const slow = beforeCall(beforeCall(on.world, "deliver", between), "request", between);
  expect(await undoFirst(slow, run)).toBe("accepted");
  await playOut(on, agent);
  expect([rowOf(on, run).status, outside]).toEqual(["cancelled", ["undone"]]);
  // Another one, that somebody else cancels without: the wish comes right before its end is committed.
  const other = await blocked();
  await sendRequest(other.on.world, { run: other.run, want: "cancel" });
  const act = async () => undoFirst(other.on.world, other.run);
  const world = beforeCommit(other.on, { when: ({ status }) => status === "cancelled", act });
  await step(other.on, other.agent, world);
  await playOut(other.on, other.agent);
  expect([rowOf(other.on, other.run).status, other.outside]).toEqual(["cancelled", ["undone"]]);
  expect(await rulesOf(other.on.world, other.run)).toContain("effects are undone");
});
