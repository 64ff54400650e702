/**
 * Plans that get stale, above all while no process drives the run: the age and the precondition count on
 * resume, a step that was given up has left its effects, and effects come last.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Conversation, type ScriptedReply, OutcomeUnknown, planExecute, tool } from "../../../../src/index.ts";
import { forEachCrashPoint } from "../../../support/faults/crash-at-call.ts";
import { sampled } from "../../../support/gate/stride.ts";
import type { Harness } from "../../../support/harness/harness.ts";
import { playRun, roleAgent } from "../../../support/runs/topology-run.ts";
import { MS } from "../../../support/harness/harness.ts";

/** Of the moments at which a process may die, one in so many. Some of the claims need moments that are rare. */
const STRIDE = sampled(3, 1);

type Options = Partial<Parameters<typeof planExecute>[0]>;

const step = (title: string, tools: readonly string[] = []) => ({ title, does: title, tools });
const BOOK = [step("look", ["look"]), step("book", ["book"])];

/** Looks, then books. A planner who reads that the booking succeeded does not plan it again. */
function clerk(options: Options = {}, plan?: (opening: string) => readonly object[]) {
  const booked: string[] = [];
  const planned = (opening: string): readonly object[] => {
    if (plan !== undefined) return plan(opening);
    return /book \{"room":1\}: succeeded/.test(opening) ? [step("look", ["look"])] : BOOK;
  };
  const reply = ({ instructions, messages, calls }: Conversation): ScriptedReply => {
    const opening = messages.findLast(({ role }) => role === "user")?.text ?? "";
    if (instructions.includes("Plan.")) return { text: JSON.stringify({ steps: planned(opening) }) };
    const [, title = ""] = /^Step \d of \d: (.+)\.\n/.exec(opening) ?? [];
    if (title === "") return { text: "all is done" };
    if (calls.length > 0) return { text: `${title} is over` };
    return { calls: [title === "look" ? { tool: "look", args: {} } : { tool: "book", args: { room: 1 } }] };
  };
  const book = tool({
    ...{ input: z.object({ room: z.number() }), effect: "keyed" },
    run: ({ key }) => {
      if (!booked.includes(key)) booked.push(key);
      return "booked";
    },
  });
  const look = tool({ input: z.object({}), effect: "none", run: () => "free" });
  const topology = planExecute({ planner: { instructions: "Plan." }, effectsLast: ["book"], ...options });
  return { ...roleAgent(topology, { reply, tools: { book, look } }), booked };
}

test("a plan that got too old while no process lived is replaced before the run acts on, and nothing is booked twice", async () => {
  let [stale, informed] = [0, 0];
  const crashes = await forEachCrashPoint(async (crash) => {
    const { agent, booked, asked } = clerk({ planTtl: "10m" });
    let resumedAt = Infinity;
    const afterDeath = ({ clock }: Harness): void => {
      clock.moveTo(clock.now() + MS.hour);
      resumedAt = clock.now();
    };
    const { lives, shown, cracks, moves, events } = await playRun(agent, { crash, afterDeath });
    expect(shown).toMatchObject({ status: "completed" });
    expect(booked).toHaveLength(1);
    const learns = 'book: was given up. What it did: book {"room":1}: succeeded: booked';
    if (asked.some(({ texts }) => texts.at(-1)?.includes(learns) === true)) informed += 1;
    // A look changes nothing, so it may be repeated.
    expect(asked.some(({ texts }) => texts.at(-1)?.includes("What it did: look") === true)).toBe(false);
    if (cracks.length > 0) {
      stale += 1;
      expect(cracks).toEqual(["stalePlan"]);
      expect(moves.filter(({ note }) => note.startsWith("another plan: the plan is 36"))).toHaveLength(1);
      // A call that had left is settled. No other one follows before the signal.
      const signalled = events.findIndex(({ kind }) => kind === "CrackSignalled");
      const intended = events.flatMap((event, at) => (event.kind === "ToolIntended" ? [{ ...event, index: at }] : []));
      const before = new Set(intended.flatMap(({ at, call }) => (at < resumedAt ? [call] : [])));
      const between = intended.filter(({ at, index }) => at >= resumedAt && index < signalled).map(({ call }) => call);
      expect(between.filter((call) => !before.has(call))).toEqual([]);
    }
    return lives;
  }, STRIDE);
  expect(stale).toBeGreaterThan(20 / STRIDE);
  expect(informed).toBeGreaterThan(5 / STRIDE);
  expect(crashes).toBeGreaterThan(50);
});

test("a planner hears of a call that may have happened, and its equal call in the new plan asks a human", async () => {
  const { agent, asked } = clerk({}, () => [step("book", ["book"])]);
  const keys: string[] = [];
  const book = {
    ...agent.tools["book"],
    run: ({ key }: { readonly key: string }) => {
      if (!keys.includes(key)) keys.push(key);
      // A keyed call is repeated under its key. The answers of the first one are all lost.
      if (keys.length === 1) throw new OutcomeUnknown("no answer");
      if (keys.length === 2) throw new Error("503 busy");
      return "booked";
    },
  };
  const { shown, cracks } = await playRun({ ...agent, tools: { ...agent.tools, book } } as typeof agent);
  expect({ status: shown?.status, cracks }).toEqual({ status: "waiting", cracks: ["partialExecution"] });
  expect(shown?.gates).toMatchObject([{ tool: "book" }]);
  const openings = asked.flatMap(({ texts }) => texts.filter((text) => text.startsWith("The plan cannot go on")));
  const told = '- book: was given up. What it did: book {"room":1}: may have happened';
  expect(openings.map((text) => text.split("\n").filter((line) => line.includes("given up")))).toEqual([[told]]);
});

test("a precondition is checked again when a run resumes, so the world may move while no process lives", async () => {
  let [checked, again] = [0, 0];
  await forEachCrashPoint(async (crash) => {
    const world = { isFree: true };
    const { agent, booked } = clerk({
      precondition: ({ about }) =>
        (about as { readonly title: string }).title !== "book" || world.isFree || "the room is taken",
      replans: 0,
    });
    const played = await playRun(agent, { crash, afterDeath: () => (world.isFree = false) });
    const { lives, shown, cracks, moves } = played;
    if (shown?.status === "failed") {
      checked += 1;
      // The step had begun when its process died, and had not acted.
      if (moves.some(({ where }) => where.includes("step 2 of 2, book"))) again += 1;
      expect({ cracks, code: shown.failure?.code }).toEqual({ cracks: ["stalePlan"], code: "StalePlan" });
      expect(booked).toEqual([]);
    } else
      expect({ status: shown?.status, booked: booked.length, cracks }).toEqual({
        status: "completed",
        booked: 1,
        cracks: [],
      });
    return lives;
  }, STRIDE);
  expect(checked).toBeGreaterThan(20 / STRIDE);
  expect(again).toBeGreaterThan(0);
});

test("a plan with an effect before a decision is sent back to the planner before anything acts", async () => {
  let plans = 0;
  const { agent, booked, asked } = clerk({}, () => ((plans += 1) === 1 ? BOOK.toReversed() : BOOK));
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed" });
  expect(moves.map(({ note }) => note).slice(1, 3)).toEqual([
    'the plan cannot be used: effects come last, and "look" follows "book"',
    "plan 1: look; book",
  ]);
  expect(asked[1]?.texts.at(-1)).toContain("effects come last");
  expect(booked).toHaveLength(1);
});

test.each([
  ["stop", "failed", "PartialExecution"],
  ["skip", "completed", undefined],
  ["replan", "failed", "PartialExecution"],
] as const)(
  "a step that fails is treated as the policy says, whoever dies where: %s",
  async (onFailedStep, status, code) => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const { agent, booked } = clerk({ onFailedStep, replans: 1 });
      const look = { ...agent.tools["look"], run: () => Promise.reject(new Error("503 busy")) };
      const { lives, shown, cracks, moves } = await playRun(
        { ...agent, tools: { ...agent.tools, look } } as typeof agent,
        { crash },
      );
      expect({ status: shown?.status, code: shown?.failure?.code }).toEqual({ status, code });
      expect(booked).toHaveLength(onFailedStep === "skip" ? 1 : 0);
      expect(cracks).toEqual(
        onFailedStep === "replan" ? ["partialExecution", "partialExecution"] : ["partialExecution"],
      );
      const diffs = moves.filter(({ note }) => note === "plan 2: the same steps again");
      expect(diffs).toHaveLength(onFailedStep === "replan" ? 1 : 0);
      return lives;
    }, STRIDE);
    expect(crashes).toBeGreaterThan(20);
  },
);
