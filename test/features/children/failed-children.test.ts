/**
 * Child runs that fail after they acted outside, with tries of their parents left: for a reason that another try can mend
 * they go on as the same runs, under the same keys.
 */
import { EFFECT_NAMES } from "../../../src/core/calls/effects.ts";
import { describe, expect, test } from "vitest";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { ScriptedReply } from "../../../src/index.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { dispatchIn } from "../../../src/protocol/row-fence.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { type PayerOptions, Till, payer, payingBoss } from "../../support/agents/payers.ts";
import { OVER } from "../../support/agents/workers.ts";
import { neverSettles } from "../../support/harness/harness.ts";
import { SUCCEEDED, assertOnce, resultOf } from "../../support/runs/late-child.ts";
import { type Household, household } from "../../support/runs/parent-steps.ts";

const ACTING = EFFECT_NAMES.filter((effect) => effect !== "none");
const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const MINUTE = 60_000;

/** The reply with that number, from 0, after the payment. */
const replies = (reply: (number: number) => ScriptedReply): (() => ScriptedReply) => {
  let asked = 0;
  return () => reply(asked++);
};

interface Way extends Pick<PayerOptions, "reply" | "result"> {
  readonly code: string;
  /** An outage is over after its quick retries. */
  readonly isOut?: true;
}

/** Each of them is over when the child has gone on once. */
const MENDED: { readonly [way: string]: () => Way } = {
  "the provider of its model is away for too long": () => ({
    ...{ code: "ModelUnavailable", isOut: true },
    reply: replies((number) => {
      if (number < 5) throw refused();
      return OVER;
    }),
  }),
  "its model answers nothing again and again": () => ({
    code: "EmptyReply",
    reply: replies((number) => (number < 4 ? {} : OVER)),
  }),
  "its agent makes no result of the answer": () => ({
    code: "ResultInvalid",
    result: (number) => {
      if (number === 0) throw new Error("no figures");
      return { memo: "paid" };
    },
  }),
};

const childTries = { tries: 3, deadlineMs: 60 * MINUTE, budget: { beats: 19 } } as const;

const outageOf = (agent: Agent, { isOut }: Way): Agent =>
  isOut === undefined ? agent : { ...agent, outageMaxMs: 7_000 };

async function family(effect: Tool["effect"], way: Way, tries: number = childTries.tries) {
  const till = new Till();
  const { code: _, isOut: _out, ...worker } = way;
  const boss = payingBoss({ child: { ...childTries, tries } });
  const house = await household([boss, outageOf(payer({ effect, till, ...worker }), way)]);
  await house.playAll();
  return { house, till };
}

const triesIn = async (house: Household): Promise<readonly unknown[]> => {
  const entries = (await timeline(house.harness.world, { run: house.children()[0]?.run ?? "", after: 0 })) ?? [];
  return entries.flatMap((event) =>
    event.kind === "RecoveryDecided" && event.action.kind === "tryAgain" ? [event.action] : [],
  );
};

describe.each(Object.entries(MENDED))("a child that acted, and %s,", (_, wayOf) => {
  test.each(ACTING)("goes on once, with a call of class %s that is not made again", async (effect) => {
    const way = wayOf();
    const { house, till } = await family(effect, way);
    assertOnce(house, till, effect);
    expect(await resultOf(house)).toEqual(SUCCEEDED);
    expect(await triesIn(house)).toMatchObject([{ try: 2, tries: 3, failure: { code: way.code } }]);
    expect(house.children()).toMatchObject([{ status: "completed", endNotified: true }]);
  });

  test("ends where its parent has no try left", async () => {
    const { house } = await family("keyed", wayOf(), 1);
    expect(await triesIn(house)).toEqual([]);
    expect(house.children()).toMatchObject([{ status: "failed" }]);
  });

  test("ends where it did nothing outside: its parent hands the task out again as it likes", async () => {
    const { house } = await family("none", wayOf());
    expect(await triesIn(house)).toEqual([]);
    expect(house.children()).toMatchObject([{ status: "failed" }]);
  });
});

test("a child whose provider stays away goes on once: without a reply in between it would fail a third time", async () => {
  const way: Way = {
    ...{ code: "ModelUnavailable", isOut: true },
    reply: () => {
      throw refused();
    },
  };
  const { house, till } = await family("keyed", way);
  expect(await triesIn(house)).toHaveLength(1);
  assertSafety("paid once", () => expect(till.paid).toHaveLength(1));
  expect(await resultOf(house)).toMatchObject([{ outcome: "failed", result: { done: [expect.any(String)] } }]);
});

test("a child whose answers are all refused by its agent fails at the last of its tries", async () => {
  let answers = 0;
  const result = () => {
    answers += 1;
    throw new Error("no figures");
  };
  const { house } = await family("keyed", { code: "ResultInvalid", result });
  expect(answers).toBe(3);
  expect(await triesIn(house)).toMatchObject([{ try: 2 }, { try: 3 }]);
  expect(house.children()).toMatchObject([{ status: "failed" }]);
});

test("a child whose budget is used up ends: its grant is never raised", async () => {
  const till = new Till();
  const boss = payingBoss({ child: { ...childTries, budget: { beats: 2 } } });
  const worker = payer({ effect: "keyed", till, reply: () => ({ text: "" }) });
  const house = await household([boss, worker]);
  await house.playAll();
  assertSafety("paid once", () => expect(till.paid).toHaveLength(1));
  expect(await triesIn(house)).toEqual([]);
  expect((await house.state(house.children()[0]?.run ?? "")).failure).toMatchObject({ code: "BudgetExhausted" });
});

test("the tries of a child are those that its parent has left, and its answers count, too", async () => {
  const way: Way = {
    code: "EmptyReply",
    reply: replies((number) => (number >= 1 && number < 5 ? {} : OVER)),
    result: (number) => (number === 0 ? { text: 1 } : { memo: "paid" }),
  };
  const { house } = await family("keyed", way);
  expect(await triesIn(house)).toMatchObject([{ try: 3, tries: 3, failure: { code: "EmptyReply" } }]);
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});

test("the views of parent and child say which try it is, and after what, until it has ended", async () => {
  const till = new Till();
  let isAway = true;
  const worker = payer({
    ...{ effect: "keyed", till },
    reply: () => {
      if (isAway) throw refused();
      return OVER;
    },
  });
  const house = await household([payingBoss({ child: childTries }), { ...worker, outageMaxMs: 7_000 }]);
  const { world } = house.harness;
  await house.runAttempt(house.run);
  await house.runAttempt(house.run);
  const child = house.children()[0]?.run ?? "";
  for (let beats = 0; beats < 20 && (await triesIn(house)).length === 0; beats += 1) await house.runAttempt(child);
  const again = { try: 2, tries: 3, after: expect.stringMatching(/^ModelUnavailable: no model answered/u) };
  expect(await show(world, house.run)).toMatchObject({ again: null, children: [{ run: child, again }] });
  expect(await show(world, child)).toMatchObject({ again, children: [] });
  isAway = false;
  await house.playAll();
  expect(await show(world, child)).toMatchObject({ status: "completed", again: null });
});

test("a child that answered nothing at each try goes on once: what cairn says to its model is no progress", async () => {
  const { house, till } = await family("keyed", { code: "EmptyReply", reply: () => ({}) });
  expect(await triesIn(house)).toMatchObject([{ try: 2, failure: { code: "EmptyReply" } }]);
  assertSafety("paid once", () => expect(till.paid).toHaveLength(1));
});

test("a late child that used up the tries itself is asked to stop, and not taken from its process", async () => {
  const till = new Till();
  let answers = 0;
  const worker = payer({
    ...{ effect: "keyed", till },
    reply: () => (answers < 2 ? OVER : neverSettles()),
    result: () => ({ text: (answers += 1) }),
  });
  const house = await household([payingBoss({ child: { ...childTries, deadlineMs: 2_000 } }), worker]);
  await house.playAll();
  expect(answers).toBe(2);
  assertSafety("paid once", () => expect(till.paid).toHaveLength(1));
  const [child] = house.children();
  expect(child).toMatchObject({ status: "cancelled" });
  expect(dispatchIn(child ?? {})).toBe(1);
});
