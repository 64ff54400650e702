/** The recovery audit: what it says follows a death is what the runner does, and what it misses is really missing. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent, Tool, Topology } from "../../src/ports/agent.ts";
import { plain } from "../../src/render/paint.ts";
import { renderAudit } from "../../src/render/audit.ts";
import { EFFECT_NAMES, type Effect } from "../../src/core/calls/effects.ts";
import type { OnUnknown } from "../../src/core/event.ts";
import { ALL_CRACKS, cracksOf } from "../../src/core/topologies/cracks.ts";
import { audit, hasUndo, recoveryOf } from "../../src/doctor/audit.ts";
import {
  check,
  debate,
  defineAgent,
  judge,
  pipeline,
  planExecute,
  react,
  scriptedModel,
  tool,
} from "../../src/index.ts";
import { METRICS } from "../../src/adapters/aws/metrics.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { ledger } from "../../src/operations/views.ts";
import { namesOf } from "../../infra/names.ts";
import { planOf } from "../../infra/plan.ts";
import { kebab } from "../../infra/watch.ts";
import { watchesOf } from "../../infra/watches.ts";
import { beginRun } from "../support/harness/drive.ts";
import { scriptedAgent, createChainHarness } from "../support/harness/harness.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";

const LIMITS = limitsFor(60_000);
const POLICIES: readonly (OnUnknown | null)[] = [null, "ask", "tell", "fail", "compensate"];

/** What the sentence of the audit has to say of each end that was seen. */
const WORDS: { readonly [P in OnUnknown]: RegExp } = {
  ask: /blocked until/,
  tell: /the model is told/,
  fail: /the run fails/,
  compensate: /all effects are undone/,
};

/** A process dies in its tool; what the next ones do without anybody's word, and how the run stands then. */
async function seen(effect: Effect, onUnknown: OnUnknown | null) {
  const harness = createChainHarness();
  const done = { runs: 0, probes: 0, undone: 0 };
  const undo = { effect: "keyed", run: () => (done.undone += 1) } as const;
  const probe = () => ((done.probes += 1), { kind: "unknown" });
  const made = scriptedAgent({ effect, run: () => (done.runs += 1), ...(effect === "probed" ? { probe } : {}) });
  const act = { ...(made.tools["act"] as Tool), onUnknown, ...(onUnknown === "compensate" ? { undo } : {}) } as Tool;
  const agent: Agent = { ...made, tools: { act } };
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  const [call] = (await ledger(harness.world, run)) ?? [];
  const failed = done.undone > 0 ? "compensate" : "fail";
  const unknown = ({ blocked: "ask", completed: "tell", failed } as const)[String(harness.row(run).status)];
  return { tool: act, ...done, status: harness.row(run).status, unknown, outcome: call?.status };
}

describe("what follows a death matches the audit", () => {
  test.each(EFFECT_NAMES.flatMap((effect) => POLICIES.map((policy) => [effect, policy] as const)))(
    "%s, onUnknown %s",
    async (effect, policy) => {
      const { tool: declared, runs, probes, status, unknown, outcome } = await seen(effect, policy);
      const { onCrash, unknown: said, inWords } = recoveryOf(declared);
      const again = runs > 0;
      expect({ again, wait: again, probe: probes > 0, ask: runs + probes === 0 }).toMatchObject({ [onCrash]: true });
      if (onCrash === "again" || onCrash === "wait")
        expect({ status, outcome }).toEqual({ status: "completed", outcome: "succeeded" });
      else {
        expect({ said, runs }).toEqual({ said: unknown, runs: 0 });
        expect(inWords).toMatch(WORDS[unknown ?? "ask"]);
        const others = Object.entries(WORDS).filter(([other]) => other !== unknown);
        for (const [, words] of others) expect(inWords).not.toMatch(words);
      }
      expect(inWords.includes("undone in reverse order if its run fails")).toBe(declared.undo !== null);
    },
  );
});

const look = tool({ input: z.object({}), effect: "none", run: () => "seen" });
const fire = tool({ input: z.object({}), effect: "unsafe", run: () => "fired", timeoutMs: 50_000 });
const model = scriptedModel({ name: "m", reply: () => ({ text: "over" }) });

const bare = defineAgent({
  ...{ name: "bare", version: "1", model, instructions: "", task: z.object({}), loops: "ignore" },
  tools: { look, fire, ask: tool({ ...look, approval: "always" }) },
  retention: { hotDays: 0.5 },
}) as Agent;

const careful = defineAgent({
  ...{ name: "careful", version: "2", model, instructions: "", task: z.object({}), dial: "auto" },
  price: { inUsd: 1, outUsd: 1 },
  tools: {
    look,
    pay: tool({ ...look, effect: "keyed", key: () => "pay-1" }),
    book: tool({ ...look, effect: "probed", probe: () => ({ kind: "absent" }), onUnknown: "fail" }),
    fire: tool({ ...fire, timeoutMs: 1_000, approval: () => "it is hot" }),
  },
  done: [check("over", () => true)],
  budget: { usd: 1, tokens: 1_000, toolCalls: 5, wall: "1h" },
}) as Agent;

test("finds work that a tool leaves behind, as far as its source shows it", () => {
  const spawn = (_: string, options: object): object => options;
  const timer = { unref: () => timer };
  const of = (run: Tool["run"], undo: Tool["undo"] = null): readonly string[] =>
    audit({ ...bare, tools: { fire: { ...(bare.tools["fire"] as Tool), run, undo } } }, LIMITS).missing.flatMap(
      ({ what, why }) => (what === "detached" ? [why] : []),
    );
  const says = [expect.stringMatching(/^fire may leave work that continues after the call/)];
  expect(of(() => spawn("mail", { detached: true }))).toEqual(says);
  expect(of(() => spawn("setsid mail", {}))).toEqual(says);
  expect(of(() => timer.unref())).toEqual(says);
  expect(of(() => "sent", { effect: "keyed", run: () => spawn("x", { detached: true }) })).toEqual(says);
  expect(of(() => spawn("mail", { detached: false }))).toEqual([]);
});

test("each missing declaration is named with what to write", () => {
  const { missing } = audit(bare, LIMITS);
  expect(missing.map(({ what }) => what).toSorted()).toEqual(
    ["approval", "budget", "crack", "decision", "done", "effects", "retention", "timeout"].toSorted(),
  );
  const why = Object.fromEntries(missing.map((each) => [each.what, each.why]));
  expect(why["decision"]).toContain("after a process death in fire an operator has to decide");
  expect(why["timeout"]).toContain("fire may take longer than the 45000 ms");
  expect(why["budget"]).toBe("nothing limits money, tokens, time at work, tool calls");
  const budget = audit({ ...bare, budget: { ...bare.budget, tokens: 9, toolCalls: 9 } }, LIMITS).missing.find(
    ({ what }) => what === "budget",
  );
  expect(budget?.mend).toBe('add to its budget: usd: 1, wall: "2h"');
  expect(why["crack"]).toContain("oscillation, prematureStop");
  expect(why["retention"]).toContain("removed after 12 hours, and an approval may take 24");
  expect(missing.every(({ mend }) => mend.length > 10)).toBe(true);
});

test("an agent that declares everything still has its decision points", () => {
  const { missing, tools } = audit(careful, LIMITS);
  expect(missing.map(({ what }) => what)).toEqual(["decision"]);
  expect(tools.map(({ decisionPoint }) => decisionPoint)).toEqual([false, false, false, true]);
  const undoable = { ...careful, tools: { fire: { ...fire, undo: { effect: "keyed", run: () => "undone" } } as Tool } };
  expect(hasUndo(fire as Tool)).toBe(false);
  expect(audit(undoable, LIMITS).tools).toMatchObject([{ undo: true, decisionPoint: false }]);
});

test("every crack of a topology has a metric and an alarm with the audited name", () => {
  const names = namesOf("cairn-dev", { partition: "aws", region: "eu-west-1", account: "123456789012" });
  const alarms = watchesOf(names, planOf({}, [])).map(({ name }) => name);
  const { cracks } = audit(careful, LIMITS);
  expect(cracks.map(({ crack }) => crack)).toEqual(cracksOf(["react"], { workers: false }).map(({ crack }) => crack));
  for (const { alarm, metric } of cracks) {
    expect(alarms).toContain(alarm);
    expect(METRICS).toHaveProperty(String(metric));
  }
  expect(alarms).toEqual(expect.arrayContaining(ALL_CRACKS.map(({ metric }) => kebab(metric))));
});

test("the report equals its reference text", () => {
  expect(renderAudit(audit(careful, LIMITS), { agent: careful, paint: plain, width: 120 })).toBe(
    `
careful, version 2  react, 4 tools

TOOL  EFFECT  IDEMPOTENT  KEY         PROBE  UNDO  APPROVAL  TIMEOUT  SETTLE
look  none    Y           N           N      N     never         30s       -
pay   keyed   Y           Y business  N      N     never         30s       -
book  probed  N           Y derived   Y      N     never         30s     30s
fire  unsafe  N           N           N      N     policy       1.0s     30s  ← a crash needs you

when its process dies during the call
look  runs again at once
pay   runs again at once with the same key
book  asks the external service; if it did not happen, runs again with the same key; if the outcome stays unknown, the run fails after the settle time
fire  never runs again by itself: the run is blocked until an operator reconciles the call

the dial: when its plan is committed
look        committed with its result while a reply costs under 0.02 cents and 0.5 s, else before it starts
pay         committed before it starts, since it has external effects
book, fire  committed before it starts, since it has external effects; its result before the model sees it

checkpoints
react  a checkpoint follows each beat

first failures of its topology
runaway        many beats are used, or a call repeats with the same result (80 % of its beats, or three equal calls among six) → it is stopped after a closing call; beats before a crash count towards its limit; alarm runaway
oscillation    two calls alternate with the same results, or their results contradict each other (six calls in a row; a contradiction that comes back) → it tells its model of the contradiction; then is stopped, or goes on with another model or a human; alarm oscillation
prematureStop  its model says that it is done while a check of done fails (one check) → it tells its model what is missing, three times, then fails; alarm not-done

missing safeguards
! decision   no key, no probe, no undo: after a process death in fire an operator has to decide: resume or restart
             → make it keyed or probed, give it an undo, or declare what follows: onUnknown: "tell" or "fail"`.trimStart(),
  );
});

describe("an agent of another topology", () => {
  const LOOK = tool({ input: z.object({}), effect: "none", run: () => "seen" });
  const of = (topology: Topology, tools: object = { LOOK }) =>
    audit({ ...careful, tools: tools as Agent["tools"], topology }, LIMITS);
  const stage = { name: "read", instructions: "Read." };

  test("has its own cracks first, and those of its ReAct sections", () => {
    const names = (topology: Topology) => of(topology).cracks.map(({ crack }) => crack);
    const react_ = ["runaway", "oscillation", "prematureStop"];
    expect(names(pipeline({ stages: [stage] }))).toEqual(["cascadingPoison", ...react_]);
    expect(names(planExecute({ planner: { instructions: "Plan." } }))).toEqual([
      "stalePlan",
      "partialExecution",
      ...react_,
    ]);
    const role = { instructions: "Do it." };
    expect(names(debate({ drafter: role, critic: role, judge: role }))).toEqual([
      "deadlock",
      "capitulation",
      ...react_,
    ]);
  });

  test("has the cracks of the topologies inside it, each once", () => {
    const role = { instructions: "Do it." };
    const inner = debate({ drafter: role, critic: role, judge: role });
    const nested = pipeline({
      stages: [
        { ...stage, topology: inner },
        { ...stage, name: "tell", topology: inner },
      ],
    });
    expect(of(nested).cracks.map(({ crack, alarm }) => [crack, alarm])).toEqual([
      ["cascadingPoison", null],
      ["deadlock", "deadlock"],
      ["capitulation", "capitulation"],
      ...[
        ["runaway", "runaway"],
        ["oscillation", "oscillation"],
        ["prematureStop", "not-done"],
      ],
    ]);
  });

  test("is told that nothing sees cascading poison without an end-to-end check", () => {
    const alarmsOf = (endToEnd?: () => boolean) =>
      of(pipeline({ stages: [stage], ...(endToEnd && { endToEnd }) })).cracks[0]?.alarm;
    expect([alarmsOf(), alarmsOf(() => true)]).toEqual([null, "cascading-poison"]);
  });

  test("is told of an effect that a decision follows", () => {
    const why = (topology: Topology) =>
      of(topology, { look: LOOK, fire }).missing.find(({ what }) => what === "effects")?.why;
    const two = (tools: readonly string[]) =>
      pipeline({
        stages: [
          { ...stage, tools: ["fire"] },
          { ...stage, name: "tell", tools },
        ],
      });
    expect(why(two([]))).toContain("fire must not run twice, and stage read may call it");
    expect(
      why(
        pipeline({
          stages: [
            { ...stage, tools: [] },
            { ...stage, name: "act", tools: ["fire"] },
          ],
        }),
      ),
    ).toBeUndefined();
    // The last stage is not the end where something judges it.
    const last = (change: object, more: object = {}) =>
      pipeline({
        stages: [
          { ...stage, tools: [] },
          { ...stage, name: "act", tools: ["fire"], ...change },
        ],
        ...more,
      });
    expect(why(last({}, { endToEnd: () => true }))).toBe(
      "fire must not run twice, and stage act may call it before the end-to-end check, which may send the run back",
    );
    const judged =
      "fire must not run twice, and stage act may call it before its own output is judged, and would run again";
    expect(why(last({ gate: () => true }))).toBe(judged);
    expect(why(last({ gate: judge({ instructions: "Judge.", threshold: 0.5 }) }))).toBe(judged);
    expect(why(last({ output: z.object({}) }))).toBe(judged);
    // No stage may call it, or only a loop inside of the last stage.
    expect(why(last({ tools: [] }, { endToEnd: () => true }))).toBeUndefined();
    expect(why(last({ topology: react({ maxBeats: 5 }) }))).toBeUndefined();
    const plan = (effectsLast: readonly string[], tools: readonly string[] = []) =>
      planExecute({ planner: { instructions: "Plan.", tools }, effectsLast });
    expect(why(plan([]))).toContain("also one that names no tools (effectsLast)");
    expect(why(plan(["fire"]))).toBeUndefined();
    expect(why(plan(["fire"], ["fire"]))).toContain("the planner may call it before there is a plan");
  });

  test("is told that the model of a loop decides after each of its effects", () => {
    const found = (more: object) =>
      of(react({ maxBeats: 5 }), { look: LOOK, ...more }).missing.find(({ what }) => what === "effects");
    expect(found({ fire })).toMatchObject({
      why: "fire must not run twice, and its model decides after each call what comes next",
      mend: expect.stringContaining("pipeline, planExecute"),
    });
    expect(found({})).toBeUndefined();
    expect(found({ fire: { ...fire, approval: "always" } })).toBeUndefined();
  });

  test("is told of an effect that a debate inside the last stage decides after", () => {
    const why = (topology: Topology) =>
      of(topology, { look: LOOK, fire }).missing.find(({ what }) => what === "effects")?.why;
    // A debate inside the last stage decides after each draft, if that stage may call the tool at all.
    const role = { instructions: "Do it." };
    const inner = debate({ drafter: role, critic: role, judge: role });
    const lastly = (tools: readonly string[]) => pipeline({ stages: [{ ...stage, tools, topology: inner }] });
    expect(why(lastly(["fire"]))).toContain("the drafter may call it in each round");
    expect(why(lastly([]))).toBeUndefined();
  });

  test("says what becomes durable as one unit", () => {
    const role = { instructions: "Do it." };
    const words = (change: object) => audit({ ...careful, ...change }, LIMITS).checkpoint.inWords;
    expect(words({ topology: debate({ drafter: role, critic: role, judge: role }), checkpoint: "unit" })).toBe(
      "each round is committed before the next one begins; a checkpoint follows each round",
    );
    expect(words({ checkpoint: 5 })).toBe("a checkpoint follows at most 5 beats");
  });
});
