/** Hand-offs that fail, with workers of every effect class: another child is made only where that is safe. */
import { EFFECT_NAMES } from "../../../src/core/calls/effects.ts";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { defineAgent, pipeline, scriptedModel, tool } from "../../../src/index.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { type PayerOptions, Till, payer, payingBoss } from "../../support/agents/payers.ts";
import { createChainHarness, neverSettles, MS } from "../../support/harness/harness.ts";
import { TASKS_MAX, childrenOf, played } from "../../support/runs/played-family.ts";

const ACTING = EFFECT_NAMES.filter((effect) => effect !== "none");
const PART = '{"part":0}';

/** Answers that a boss does not take, and what the worker is told of them. */
const UNFIT: { readonly [form: string]: readonly [answer: unknown, why: RegExp] } = {
  "has another schema": [{ text: 1 }, /the answer does not fit: .*memo/su],
  "is empty": ["", /the answer does not fit|it gave no answer/u],
  "is the task": [{ part: 0 }, /the answer does not fit|it gave its task back/u],
};

/** Each way in which a worker that has paid loses its hand-off. */
const FORMS: { readonly [form: string]: Pick<PayerOptions, "result" | "reply"> & { readonly deadlineMs?: number } } = {
  "whose answer has another schema": { result: () => ({ text: 1 }) },
  "whose answer is empty": { result: () => "" },
  "whose answer is the task": { result: () => ({ part: 0 }) },
  "whose worker fails": { reply: () => ({}) },
  "whose worker is silent": { reply: () => neverSettles(), deadlineMs: 2_000 },
};

/** A boss and its worker, played to their end. */
async function family(of: PayerOptions & { readonly boss?: Parameters<typeof payingBoss>[0] }) {
  const harness = createChainHarness();
  const agents = [payingBoss(of.boss), payer(of)];
  const run = await played(harness, agents);
  const view = await show(harness.world, run);
  return { harness, agents, run, view, children: childrenOf(harness, run) };
}

describe.each(ACTING)("a worker with a tool of class %s", (effect) => {
  test.each(Object.entries(FORMS))(
    "%s is not followed by another one, and its boss is told what was done",
    async (_, form) => {
      const till = new Till();
      const { deadlineMs, ...worker } = form;
      const child = { tries: 3, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
      const { view, children, run, harness } = await family({ effect, till, ...worker, boss: { child } });
      assertSafety("paid once", () => expect(till.effectsOf(PART, effect)).toBe(1));
      expect(children).toHaveLength(1);
      expect(view).toMatchObject({ status: "completed" });
      expect(view?.result).toMatchObject([
        { outcome: "failed", result: { done: [expect.stringMatching(/^pay \(c1, of run .*\) happened$/)] } },
      ]);
      const entries = await ledger(harness.world, run);
      expect(entries).toMatchObject([
        { call: "c1", status: "failed", outside: { calls: [{ tool: "pay", call: "c1" }] } },
      ]);
    },
  );
});

describe.each(ACTING)("an answer of a worker that acted with a tool of class %s", (effect) => {
  test.each(Object.entries(UNFIT))("that %s goes back to its model, which gives another one", async (_, [bad, why]) => {
    const till = new Till();
    const answers = (number: number) => (number === 0 ? bad : { memo: "second" });
    const { view, children, harness } = await family({ effect, till, result: answers });
    assertSafety("paid once, under one key", () => expect(till.paid).toHaveLength(1));
    expect(view?.result).toEqual([{ outcome: "succeeded", result: { memo: "second" } }]);
    expect(children).toMatchObject([{ status: "completed", endNotified: true }]);
    const entries = (await timeline(harness.world, { run: children[0]?.run ?? "", after: 0 })) ?? [];
    expect(entries.filter(({ kind }) => kind === "CheckFailed")).toMatchObject([
      { check: "answer", why: expect.stringMatching(why), isAnswer: true },
    ]);
    expect(entries).toContainEqual(expect.objectContaining({ kind: "CrackSignalled", crack: "lostHandoff" }));
  });
});

test("an answer goes back as often as the tries say, and is then judged by the boss", async () => {
  const till = new Till();
  let answers = 0;
  const result = () => ({ text: (answers += 1) });
  const { view, children } = await family({ effect: "keyed", till, result, boss: { child: { tries: 3 } } });
  expect(answers).toBe(3);
  expect(children).toMatchObject([{ status: "completed" }]);
  expect(view?.result).toMatchObject([{ outcome: "failed", result: { why: expect.stringMatching(/^HandoffLost/u) } }]);
});

test("an answer that repeats the task does not go back where the boss takes it", async () => {
  const till = new Till();
  const child = { mayEcho: true, output: undefined as never };
  let answers = 0;
  const result = () => {
    answers += 1;
    return { part: 0 };
  };
  const { view } = await family({ effect: "keyed", till, result, boss: { child } });
  expect(view?.result).toEqual([{ outcome: "succeeded", result: { part: 0 } }]);
  expect(answers).toBe(1);
});

test("an answer without a schema goes back if it is the task, told with another beginning", async () => {
  const till = new Till();
  const task = "list all printers of the second floor";
  const answers = [`Sure, here is the answer: ${task}`, "there are three"];
  const child = { input: z.object({ part: z.number(), say: z.string().default(task) }), output: undefined as never };
  const options = { child: child as never };
  const result = (number: number) => answers[Math.min(number, 1)];
  const { view } = await family({ effect: "keyed", till, result, boss: options, task: child.input });
  expect(view?.result).toEqual([{ outcome: "succeeded", result: "there are three" }]);
});

test.each(Object.entries(FORMS))("a worker of class none %s is followed by another one", async (_, form) => {
  const till = new Till();
  const { deadlineMs, ...worker } = form;
  const child = { tries: 2, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
  let answers = 0;
  const result = (number: number) => {
    answers += 1;
    return form.result === undefined ? { memo: "paid" } : form.result(number);
  };
  const { children } = await family({ effect: "none", till, ...worker, result, boss: { child } });
  // A worker that fails is told to the model, as it always was.
  expect(children).toHaveLength(form.result === undefined && deadlineMs === undefined ? 1 : 2);
  // None of them was asked for another answer.
  expect(answers).toBeLessThanOrEqual(children.length);
});

test("a worker that could act, did not and is silent goes on as the same run", async () => {
  const till = new Till();
  const worker = payer({ effect: "unsafe", till, isSilent: (number) => number === 0 });
  const harness = createChainHarness();
  const run = await played(harness, [payingBoss({ child: { tries: 2, deadlineMs: 2_000 } }), worker]);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "paid" } }]);
  expect(childrenOf(harness, run).map(({ status }) => status)).toEqual(["completed"]);
  expect(till.paid).toHaveLength(1);
});

describe("an outcome that is unknown to a worker", () => {
  const unknown = async (more: Partial<PayerOptions> = {}) => {
    const till = new Till();
    const child = { tries: 3, deadlineMs: 2_000 };
    const made = await family({ effect: "unsafe", till, fate: () => "unknown", ...more, boss: { child } });
    return { ...made, till };
  };

  test("blocks its boss, which asks an operator and not its model", async () => {
    const { till, view, children, harness, run } = await unknown();
    assertSafety("paid once", () => expect(till.paid).toHaveLength(1));
    expect(children).toMatchObject([{ status: "cancelled" }]);
    expect(view).toMatchObject({ status: "blocked", unknown: [{ call: "c1", tool: "ask" }] });
    expect(await ledger(harness.world, run)).toMatchObject([
      { call: "c1", status: "unknown", evidence: expect.stringMatching(/pay \(c1, of run .* may have happened/) },
    ]);
  });

  test.each([
    ["failed", { outcome: "failed", result: "a person says that it failed" }],
    ["succeeded", { outcome: "succeeded", result: { memo: "looked" } }],
  ] as const)("is reconciled as %s at the boss", async (as, result) => {
    const { harness, agents, run } = await unknown();
    harness.clock.moveTo(harness.clock.now() + 10 * MS.settle + harness.world.limits.beatMs);
    const answer = { as, result: as === "succeeded" ? { memo: "looked" } : null, by: "eve", note: null };
    expect(await reconcile(harness.world, { run, call: "c1", ...answer })).toEqual({ kind: "accepted" });
    await harness.runUntilIdle(agents, TASKS_MAX);
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: [result] });
  });

  test("that an operator wants made again gets another child", async () => {
    const { harness, agents, run, till } = await unknown({ fate: (number) => (number === 0 ? "unknown" : "returns") });
    harness.clock.moveTo(harness.clock.now() + 10 * MS.settle + harness.world.limits.beatMs);
    const answer = { as: "retry", result: null, by: "eve", note: null } as const;
    expect(await reconcile(harness.world, { run, call: "c1", ...answer })).toEqual({ kind: "accepted" });
    await harness.runUntilIdle(agents, TASKS_MAX);
    expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "paid" } }]);
    expect(childrenOf(harness, run)).toHaveLength(2);
    expect(till.paid).toHaveLength(2);
  });
});

describe("an equal hand-off after one that failed with effects", () => {
  const again = ({ calls }: { readonly calls: readonly unknown[] }) =>
    calls.length < 2 ? { calls: [{ tool: "ask", args: { part: 0 } }] } : { text: "over" };
  const bad = { result: () => ({ text: 1 }) };

  test("is refused with the list of what was done", async () => {
    const till = new Till();
    const { view, children } = await family({ effect: "keyed", till, ...bad, boss: { reply: again } });
    expect(children).toHaveLength(1);
    assertSafety("paid once", () => expect(till.effectsOf(PART, "keyed")).toBe(1));
    expect(view?.result).toMatchObject([
      { outcome: "failed" },
      { outcome: "failed", result: expect.stringMatching(/^AlreadyActed: c1 .*: pay \(c1, of run .* happened/) },
    ]);
  });

  test("asks a human where its tool says so", async () => {
    const till = new Till();
    const boss = { reply: again, child: { afterEffects: "ask" as const } };
    const { view, children } = await family({ effect: "keyed", till, ...bad, boss });
    expect(children).toHaveLength(1);
    expect(view).toMatchObject({
      status: "waiting",
      gates: [{ call: "c2", reason: expect.stringMatching(/pay \(c1/) }],
    });
  });

  test("is made where the one before did nothing outside", async () => {
    const till = new Till();
    const boss = { reply: again, child: { tries: 1 } };
    const { children } = await family({ effect: "none", till, ...bad, boss });
    expect(children).toHaveLength(2);
  });

  test("by another tool for the same agent is refused, too", async () => {
    const till = new Till();
    const other = ({ calls }: { readonly calls: readonly unknown[] }) =>
      calls.length < 2
        ? { calls: [{ tool: calls.length === 0 ? "ask" : "delegate", args: { part: 0 } }] }
        : { text: "over" };
    const { children } = await family({ effect: "keyed", till, ...bad, boss: { reply: other } });
    expect(children).toHaveLength(1);
  });

  test("by a tool that has another name since a deployment is refused, too", async () => {
    const till = new Till();
    const agents: Agent[] = [];
    const before = payingBoss({
      reply: ({ calls }) => {
        if (calls.length === 1) agents[0] = { ...before, tools };
        const [tool, part] =
          (
            [
              ["ask", 0],
              ["delegate", 1],
              ["delegate", 0],
            ] as const
          )[calls.length] ?? [];
        return tool === undefined ? { text: "over" } : { calls: [{ tool, args: { part } }] };
      },
    });
    const { ask: _, ...tools } = before.tools;
    agents.push(before, payer({ effect: "keyed", till, ...bad }));
    const harness = createChainHarness();
    const run = await played(harness, agents);
    assertSafety("paid once", () => expect(till.effectsOf(PART, "keyed")).toBe(1));
    expect(childrenOf(harness, run)).toHaveLength(2);
  });

  test("with other arguments is made", async () => {
    const till = new Till();
    const other = ({ calls }: { readonly calls: readonly unknown[] }) =>
      calls.length < 2 ? { calls: [{ tool: "ask", args: { part: calls.length } }] } : { text: "over" };
    const { children } = await family({ effect: "keyed", till, ...bad, boss: { reply: other } });
    expect(children).toHaveLength(2);
  });
});

test("a worker with a topology ends with its answer, also where its boss takes none of that form: no stage is done again", async () => {
  const log: string[] = [];
  const pay = tool({
    ...{ input: z.object({}), effect: "keyed" },
    run: ({ key }) => log.push(`pay ${key}`),
    undo: { effect: "keyed", run: () => log.push("undo") },
  });
  let answers = 0;
  const worker = defineAgent({
    ...{ name: "worker", version: "1", instructions: "", task: z.object({ part: z.number() }), loops: "ignore" },
    topology: pipeline({ stages: [{ name: "work", instructions: "Work.", tools: ["pay"], gate: () => true }] }),
    model: scriptedModel({
      name: "worker",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "pay", args: {} }] } : { text: "done" }),
    }),
    tools: { pay },
    budget: { beats: 40 },
    result: () => (answers++ === 0 ? { text: 1 } : { memo: "fits" }),
  });
  const harness = createChainHarness();
  const boss = payingBoss({ child: { tries: 2, budget: { beats: 20 } } });
  const run = await played(harness, [boss, worker as unknown as Agent]);
  expect(log).toEqual([expect.stringMatching(/^pay /)]);
  expect(childrenOf(harness, run)).toMatchObject([{ status: "completed" }]);
});
