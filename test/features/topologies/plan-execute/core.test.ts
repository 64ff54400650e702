/** The exact moves of plan-execute: plans, preconditions, stale plans, failed steps. */
import { describe, expect, test } from "vitest";
import { PLAN_EXECUTE } from "../../../../src/features/topologies/plan-execute/core.ts";
import type { PlanExecuteOptions } from "../../../../src/features/topologies/plan-execute/core-options.ts";
import { planDiff, planIn } from "../../../../src/features/topologies/plan-execute/core-plan.ts";
import type { Move, Observation } from "../../../../src/core/topologies/topology.ts";
import { AT } from "../../../support/states/states-and-events.ts";
import { context } from "../../../support/states/topology-context.ts";

const options: PlanExecuteOptions = {
  ...{ kind: "plan-execute", maxBeats: 100, planner: { instructions: "Plan." }, step: {}, stepsMax: 3 },
  ...{ planTtlMs: 60_000, replansMax: 1, onFailedStep: "replan", effectsLast: ["pay"] },
};
type Progress = Parameters<typeof PLAN_EXECUTE.observe>[0];
const begun = PLAN_EXECUTE.begin(options, context())?.progress as Progress;
const plan = (...titles: readonly string[]): Observation => ({
  ...{ kind: "reply", message: "m2" },
  text: JSON.stringify({ steps: titles.map((title) => ({ title, does: `do ${title}` })) }),
});
const said = (message: string): Observation => ({ kind: "reply", message, text: "done" });
const DUE: Observation = { kind: "due" };
const verdict = (holds: boolean): Observation => ({
  kind: "verdicts",
  verdicts: [{ name: "precondition", holds, why: "the file is gone" }],
});

type Change = Parameters<typeof context>[0];
const harness = (
  progress: Progress,
  seen: Observation,
  change: Change = {},
  with_: Partial<PlanExecuteOptions> = {},
): Move<Progress> | null =>
  PLAN_EXECUTE.observe(progress, seen, { options: { ...options, ...with_ }, context: context(change) });
const progressOf = (move: Move<Progress> | null): Progress =>
  move !== null && "progress" in move ? move.progress : begun;
const planned = progressOf(harness(begun, plan("look", "book")));

describe("a plan", () => {
  test("is checked, and shown with its steps", () => {
    expect(harness(begun, plan("look", "book"))).toMatchObject({
      ...{ kind: "ask", note: "plan 1: look; book", say: expect.stringMatching(/^Step 1 of 2: look\.\ndo look/) },
      progress: { role: "step", cursor: 0, plannedAt: AT, plans: 1, replans: 0 },
    });
    expect(PLAN_EXECUTE.where(planned, options)).toBe("plan 1, step 1 of 2, look");
  });

  test("that cannot be used is refused twice with the reason, then the run fails", () => {
    const first = harness(begun, { kind: "reply", message: "m2", text: "I would look." });
    expect(first).toMatchObject({
      kind: "ask",
      tell: expect.stringContaining("not a JSON object with steps"),
      progress: { unreadable: 1 },
    });
    const last = harness({ ...begun, unreadable: 2 }, plan("a", "b", "c", "d"));
    expect(last).toMatchObject({
      kind: "fail",
      failure: { code: "PlanInvalid", message: expect.stringContaining("it has 4 steps") },
    });
  });

  test("puts effects last", () => {
    const rules = { stepsMax: 9, effectsLast: ["pay"] };
    const steps = (...tools: readonly string[]) =>
      JSON.stringify({ steps: tools.map((tool) => ({ title: tool, does: "", tools: [tool] })) });
    expect(planIn(steps("look", "pay", "look"), rules).wrong).toBe('effects come last, and "look" follows "pay"');
    expect(planIn(steps("look", "pay", "pay"), rules).wrong).toBeNull();
    expect(planIn('{"steps": [{"title": "", "does": ""}]}', rules).wrong).toContain("needs a title");
    // A step that names no tools may be anything, so it may not follow a payment either.
    const open = { title: "sum up", does: "" };
    const paying = { title: "pay", does: "", tools: ["pay"] };
    const mixed = (...all: readonly object[]) => planIn(JSON.stringify({ steps: all }), rules).wrong;
    expect(mixed(paying, open)).toBe('effects come last, and "sum up" follows "pay"');
    expect(mixed(open, paying)).toBeNull();
    expect(PLAN_EXECUTE.decidesAfter(options, "pay")).toBeNull();
    expect(PLAN_EXECUTE.decidesAfter(options, "book")).toContain("effectsLast");
  });

  test("withholds effects from a step that names no tools, unless it is the last one", () => {
    const at = (cursor: number, change: Partial<PlanExecuteOptions> = {}) =>
      PLAN_EXECUTE.request({ ...planned, cursor }, { ...options, ...change });
    expect(at(0)).toEqual({ role: "step", tools: "all", withheld: ["pay"] });
    expect(at(1)).toEqual({ role: "step", tools: "all" });
    expect(at(0, { effectsLast: [] })).toEqual({ role: "step", tools: "all" });
    const steps = [
      { title: "pay", does: "", tools: ["pay"] },
      { title: "pay more", does: "", tools: ["pay"] },
    ];
    expect(PLAN_EXECUTE.request({ ...planned, steps }, options)).toEqual({ role: "step", tools: ["pay"] });
  });

  test("is carried out step by step, then the answer is written", () => {
    const second = harness(planned, said("m4"));
    expect(second).toMatchObject({
      note: '"look" is done',
      say: expect.stringContaining("- look: text of m4"),
      progress: { cursor: 1 },
    });
    const answer = harness(progressOf(second), said("m6"));
    expect(answer).toMatchObject({
      kind: "ask",
      progress: { role: "answer" },
      say: expect.stringContaining("- book: text of m6"),
    });
    expect(PLAN_EXECUTE.request(progressOf(answer), options)).toEqual({ role: "answer", tools: "none" });
    expect(harness(progressOf(answer), said("m8"))).toMatchObject({ kind: "finish", message: "m8" });
  });
});

describe("a stale plan", () => {
  test("is given up at its age limit, which counts from when it was written, also in a resumed run", () => {
    expect(harness(planned, DUE, { now: AT + 60_000 })).toBeNull();
    const why = "the plan is 61 s old, and 60 s are allowed";
    expect(harness(planned, DUE, { now: AT + 61_000, resumed: true })).toMatchObject({
      ...{
        kind: "ask",
        cracks: [{ crack: "stalePlan", why }],
        progress: { role: "planner", replans: 1, plannedAt: AT },
      },
      say: expect.stringContaining("Not done yet:\n- look\n- book"),
    });
  });

  test.each([
    "flight LH1 not found",
    "Not Found",
    "the flight does not exist",
    "relation may not exist any more",
    "no such file or directory",
    "unknown ID LH1",
    "LH1 is no longer on sale",
    "request failed with status 404",
    "HTTP 410",
    "the seat is gone",
    "the method was deprecated and removed",
    "the seats have been removed",
    "Gone",
  ])("is given up when a tool says that its object is not there: %s", (why) => {
    const failures = [{ tool: "book", why, unknown: false }];
    expect(harness(planned, DUE, { failures })).toMatchObject({ cracks: [{ crack: "stalePlan" }] });
  });

  test.each([
    "order 14041 is busy",
    "4100 ms are too long",
    "503 busy",
    "the paragon refuses",
    "goneness",
    "the method is deprecated and will be removed",
    "foundation",
  ])("goes on when a tool says something else: %s", (why) => {
    expect(harness(planned, DUE, { failures: [{ tool: "book", why, unknown: false }] })).toBeNull();
  });

  test("is given up when a tool says so in words that its agent declared", () => {
    const seen = context({ failures: [{ tool: "book", why: "LH1 was Retired", unknown: false }] });
    expect(PLAN_EXECUTE.observe(planned, DUE, { options, context: seen })).toBeNull();
    const declared = { ...options, goneWords: ["retired"] };
    expect(PLAN_EXECUTE.observe(planned, DUE, { options: declared, context: seen })).toMatchObject({
      cracks: [{ crack: "stalePlan" }],
    });
  });

  test("is given up when an object is not there any more, before the model acts on", () => {
    const failures = [{ tool: "book", why: "flight LH1 not found", unknown: false }];
    expect(harness(planned, DUE, { failures })).toMatchObject({
      cracks: [{ crack: "stalePlan", why: 'book in "look": flight LH1 not found' }],
    });
    // A call that may have taken effect says nothing of the world.
    const unknown = [{ tool: "book", why: "404 not found, it may have happened", unknown: true }];
    expect(harness(planned, DUE, { failures: unknown })).toBeNull();
    expect(harness(planned, DUE, { failures: [{ tool: "book", why: "503 busy", unknown: false }] })).toBeNull();
  });

  test("is given up when a precondition does not hold: before a step, and again after a takeover if the step has not acted", () => {
    const with_ = { precondition: "precondition" };
    const asks = harness(begun, plan("look"), {}, with_);
    expect(asks).toMatchObject({
      kind: "verify",
      names: ["precondition"],
      output: "do look",
      about: { step: 1, title: "look" },
    });
    expect(harness(progressOf(asks), verdict(true), {}, with_)).toMatchObject({ kind: "ask", note: "plan 1: look" });
    expect(harness(progressOf(asks), verdict(false), {}, with_)).toMatchObject({
      cracks: [{ crack: "stalePlan", why: '"look" cannot begin: the file is gone' }],
    });
    const again = harness(planned, DUE, { resumed: true, sectionBeats: 0 }, with_);
    expect(again).toMatchObject({ kind: "verify", progress: { resuming: true } });
    expect(harness(progressOf(again), verdict(true), {}, with_)).toBeNull();
    expect(harness(progressOf(again), verdict(false), {}, with_)).toMatchObject({
      kind: "ask",
      progress: { role: "planner" },
    });
    expect(harness(planned, DUE, { resumed: true, sectionBeats: 1 }, with_)).toBeNull();
  });

  test("is replaced a bounded number of times, with the difference of the plans", () => {
    const stale = progressOf(harness(planned, DUE, { now: AT + 61_000 }));
    const second = harness(stale, plan("search", "book"), { now: AT + 62_000 });
    expect(second).toMatchObject({
      note: "plan 2: - look; + search",
      progress: { plannedAt: AT + 62_000, replans: 1, plans: 2 },
    });
    expect(harness(progressOf(second), DUE, { now: AT + 200_000 })).toMatchObject({
      kind: "fail",
      failure: { code: "StalePlan" },
      cracks: [{ crack: "stalePlan" }],
    });
    expect(planDiff([], [])).toBe("the same steps again");
  });
});

test("a step that was given up hands on what it did to each later plan, and one that did nothing does not", () => {
  const effects = ['book {"flight":"LH1"}: succeeded: ok'];
  const stale = { now: AT + 61_000 };
  const words = `- look: was given up. What it did: ${effects[0] ?? ""}`;
  const first = harness(planned, DUE, { ...stale, effects }, { replansMax: 2 });
  expect(first).toMatchObject({ say: expect.stringContaining(`not to be done again:\n${words}`) });
  const second = progressOf(harness(progressOf(first), plan("search"), stale));
  const again = harness(second, DUE, { now: AT + 130_000 }, { replansMax: 2 });
  expect(again).toMatchObject({ say: expect.stringContaining(words) });
  expect(progressOf(again).done).toHaveLength(1);
  expect(harness(planned, DUE, stale)).toMatchObject({ progress: { done: [] } });
  const last = harness(planned, DUE, { ...stale, effects }, { replansMax: 0 });
  expect(last).toMatchObject({ kind: "fail", failure: { message: expect.stringContaining("(given up, after book") } });
  const failures = [{ tool: "book", why: "503 busy", unknown: false }];
  const stopped = harness(planned, said("m4"), { failures, effects }, { onFailedStep: "stop" });
  expect(stopped).toMatchObject({ failure: { message: expect.stringContaining("look (given up, after book") } });
  const skipped = harness(planned, said("m4"), { failures, effects }, { onFailedStep: "skip" });
  expect(skipped).toMatchObject({ say: expect.stringContaining(words) });
});

describe("a failed step", () => {
  const failures = [{ tool: "book", why: "503 busy", unknown: false }];
  const second = progressOf(harness(planned, said("m4")));
  const cracks = [{ crack: "partialExecution", why: 'step 2 of 2 ("book") failed: book: 503 busy' }];

  test("leads to another plan for what is left", () => {
    expect(harness(second, said("m6"), { failures })).toMatchObject({
      ...{ kind: "ask", cracks, progress: { role: "planner", replans: 1 } },
      say: expect.stringContaining("Already done, not to be done again:\n- look: text of m4"),
    });
  });

  test("stops the run, or is skipped, if the agent says so", () => {
    expect(harness(second, said("m6"), { failures }, { onFailedStep: "stop" })).toMatchObject({
      ...{
        kind: "fail",
        cracks,
        failure: { code: "PartialExecution", message: expect.stringContaining("done: look") },
      },
    });
    expect(harness(second, said("m6"), { failures }, { onFailedStep: "skip" })).toMatchObject({
      ...{ kind: "ask", cracks, progress: { role: "answer" }, say: expect.stringContaining("- book: was skipped") },
    });
    const failure = { code: "Runaway", message: "20 of 20" };
    expect(harness(second, { kind: "gaveUp", failure }, {}, { onFailedStep: "stop" })).toMatchObject({
      kind: "fail",
      cracks: [{ crack: "partialExecution" }],
    });
    expect(harness(begun, { kind: "gaveUp", failure })).toEqual({ kind: "fail", failure });
  });
});

test("a run that had finished gets another plan: for checks as often as any, for a user always", () => {
  expect(harness(planned, { kind: "reopened", by: "checks", why: "- paid: no" })).toMatchObject({
    kind: "ask",
    progress: { role: "planner", replans: 1 },
  });
  const used = { ...planned, replans: 1 };
  expect(harness(used, { kind: "reopened", by: "checks", why: "no" })).toMatchObject({
    kind: "fail",
    failure: { code: "NotDone" },
  });
  expect(harness(used, { kind: "reopened", by: "user", why: "cheaper" })).toMatchObject({
    kind: "ask",
    progress: { replans: 1 },
  });
});

test("says what is wrong with its options", () => {
  expect(PLAN_EXECUTE.problems(options)).toEqual([]);
  expect(
    PLAN_EXECUTE.problems({ ...options, stepsMax: 0, planTtlMs: 0, replansMax: -1, onFailedStep: "hope" as never }),
  ).toHaveLength(4);
  expect(PLAN_EXECUTE.problems({ ...options, goneWords: ["retired"] })).toEqual([]);
  expect(PLAN_EXECUTE.problems({ ...options, goneWords: [""] })).toEqual([expect.stringContaining("goneWords")]);
});
