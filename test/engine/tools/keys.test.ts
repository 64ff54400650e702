/** Business keys: an agent's own names for its deeds. One key is one deed, whoever asks for it and however often. */
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/ports/agent.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { OutcomeUnknown } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { toolResultsOf, stateOf } from "../../support/agents/approval-agent.ts";
import {
  type SideEffectLog,
  type PaymentOrder,
  replyWithCalls,
  sideEffectAgent,
} from "../../support/agents/side-effect-agent.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

const key = ({ to }: PaymentOrder): string => `trip_${to}_v1`;

/** The run, driven until it ends or waits. */
async function played(harness: Harness, { agent }: SideEffectLog) {
  const payload = await beginRun(harness.world, agent, {});
  const reply = await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  return { run: reply.run, reply };
}

const intentsOf = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "ToolIntended");

test("the external service gets the business key, which is committed with the intent and marked as such", async () => {
  const harness = createHarness();
  const of = sideEffectAgent({ reply: replyWithCalls([["pay", "ada", 5]], [["mail", "ada", 5]]), pay: { key } });
  const { run } = await played(harness, of);
  expect(of.done.map((deed) => deed.key)).toEqual(["trip_ada_v1", expect.stringMatching(/^mail-c2-/)]);
  expect(await intentsOf(harness, run)).toMatchObject([{ key: "trip_ada_v1", business: true }, { call: "c2" }]);
  const [own, derived] = (await ledger(harness.world, run)) ?? [];
  expect(own).toMatchObject({ key: "trip_ada_v1", business: true, status: "succeeded" });
  expect(derived).not.toHaveProperty("business");
});

test("the key may depend on the restart number", async () => {
  const harness = createHarness();
  const of = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { key: (_, { restart, attempt }) => `pay_${restart}_${attempt}` },
  });
  await played(harness, of);
  expect(of.done).toMatchObject([{ key: "pay_1_1" }]);
});

test("a call whose key function returns null gets the derived key", async () => {
  const harness = createHarness();
  const of = sideEffectAgent({
    reply: replyWithCalls([
      ["pay", "ada", 5],
      ["pay", "bob", 5],
    ]),
    pay: { key: ({ to }: PaymentOrder) => (to === "ada" ? "trip_ada_v1" : null) },
  });
  const { run } = await played(harness, of);
  expect(of.done.map((deed) => deed.key)).toEqual(["trip_ada_v1", expect.stringMatching(/^pay-c2-/)]);
  expect((await ledger(harness.world, run))?.[1]).not.toHaveProperty("business");
});

test("changes that the key function makes to the arguments do not reach the tool", async () => {
  const harness = createHarness();
  const spoils = (input: PaymentOrder): string => {
    (input as { usd: number }).usd = 999;
    return "k";
  };
  const of = sideEffectAgent({ reply: replyWithCalls([["pay", "ada", 5]]), pay: { key: spoils } });
  await played(harness, of);
  expect(of.done).toMatchObject([{ input: { usd: 5 } }]);
});

describe("a call is refused before any intent, and the model gets the reason,", () => {
  const throws = (): never => {
    throw new Error("no trip is known");
  };
  test.each<[string, () => unknown, string]>([
    ["throws", throws, "could not be made: no trip is known"],
    ["is empty", () => "", "printable ASCII"],
    ["has a space", () => "trip 42", "printable ASCII"],
    ["has a line break", () => "trip\n42", "printable ASCII"],
    ["has other letters", () => "flüg", "printable ASCII"],
    ["is too long", () => "k".repeat(SIZES.businessKeyCharactersMax + 1), "129 characters, 128 are allowed"],
    ["is a number", () => 42, "is not a text but number"],
    ["is a promise", () => Promise.reject(new Error("no")), "is not a text but object"],
  ])("when its key %s", async (_, made, why) => {
    const harness = createHarness();
    const of = sideEffectAgent({ reply: replyWithCalls([["pay", "ada", 5]]), pay: { key: made as Tool["key"] & {} } });
    const { run, reply } = await played(harness, of);
    expect({ route: reply.route, done: of.done, intents: await intentsOf(harness, run) }).toEqual({
      route: "done",
      done: [],
      intents: [],
    });
    const [told] = await toolResultsOf(harness, run);
    expect(told).toMatchObject({ outcome: "failed" });
    expect(JSON.stringify(told)).toContain("KeyRefused");
    expect(JSON.stringify(told)).toContain(why);
  });

  test.each([
    [
      "with other arguments, some replies later",
      replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 1]], [["pay", "ada", 6]]),
    ],
    [
      "with other arguments, in the same reply",
      replyWithCalls([
        ["pay", "ada", 5],
        ["pay", "bob", 1],
        ["pay", "ada", 6],
      ]),
    ],
    ["by another tool", replyWithCalls([["pay", "ada", 5]], [["pay", "bob", 1]], [["mail", "ada", 5]])],
  ])("when its key was used %s", async (_, reply) => {
    const harness = createHarness();
    const of = sideEffectAgent({ reply, pay: { key }, mail: { key } });
    const { run } = await played(harness, of);
    expect(of.done.map(({ input }) => input)).toEqual([
      { to: "ada", usd: 5 },
      { to: "bob", usd: 1 },
    ]);
    const told = (await toolResultsOf(harness, run)).at(-1);
    expect(await ledger(harness.world, run)).toMatchObject([{}, {}, { status: "failed", attempts: 0, key: null }]);
    expect(JSON.stringify([told, (await ledger(harness.world, run))?.at(-1)])).toContain(
      "refused before it was started",
    );
    expect(JSON.stringify(await toolResultsOf(harness, run))).toContain("KeyTaken: the key trip_ada_v1");
  });
});

describe("an equal call under the same key", () => {
  const twice = replyWithCalls([["pay", "ada", 5]], [["pay", "ada", 5]]);

  test("is one effect when the external service honours keys", async () => {
    const harness = createHarness();
    const of = sideEffectAgent({ reply: twice, pay: { key } });
    await played(harness, of);
    expect(of.done.map((deed) => deed.key)).toEqual(["trip_ada_v1", "trip_ada_v1"]);
  });

  test.each(["probed", "unsafe"] as const)("is refused when it would be a second effect: %s", async (effect) => {
    const harness = createHarness();
    const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
    const of = sideEffectAgent({ reply: twice, pay: { key, effect, ...probe } });
    const { run } = await played(harness, of);
    expect(of.done).toHaveLength(1);
    expect(JSON.stringify(await toolResultsOf(harness, run))).toContain("KeyUsed: call c1 is the same call");
  });

  test("is also recognised beside the first one in one reply", async () => {
    const harness = createHarness();
    const of = sideEffectAgent({
      reply: replyWithCalls([
        ["pay", "ada", 5],
        ["pay", "ada", 5],
      ]),
      pay: { key, effect: "unsafe" },
    });
    const { run } = await played(harness, of);
    expect(of.done).toHaveLength(1);
    expect(JSON.stringify(await toolResultsOf(harness, run))).toContain("is under way");
  });

  test("runs when the first one failed, because that did not happen", async () => {
    const harness = createHarness();
    let runs = 0;
    const run = (): string => {
      runs += 1;
      if (runs === 1) throw new Error("the bank is closed");
      return "paid";
    };
    await played(harness, sideEffectAgent({ reply: twice, pay: { key, effect: "unsafe" }, run }));
    expect(runs).toBe(2);
  });
});

test("every try of a call has the committed key, even if the code would derive another one", async () => {
  const harness = createHarness();
  let made = 0;
  const run = (): string => {
    if (of.done.length < 3) throw new OutcomeUnknown("the answer was lost");
    return "paid";
  };
  const of: SideEffectLog = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { key: () => `key_${(made += 1)}` },
    run,
  });
  await played(harness, of);
  expect(of.done.map((deed) => deed.key)).toEqual(["key_1", "key_1", "key_1"]);
});

describe("at a gate", () => {
  const ruled = async (
    as: "edit" | "deny" | "approve",
    args: PaymentOrder,
    reply: ReturnType<typeof replyWithCalls>,
  ) => {
    const harness = createHarness();
    const approval = ({ usd }: PaymentOrder): string | false => (usd > 10 ? "it is much" : false);
    const of = sideEffectAgent({ reply, pay: { key, approval } });
    const { run, reply: parked } = await played(harness, of);
    const [call] = (await stateOf(harness.world, run)).open;
    const gate = (call && gateIn(call)?.gate) ?? "";
    expect(await decide(harness.world, { run, gate, as, args: { ...args }, by: "ann", note: null })).toMatchObject({
      kind: "accepted",
    });
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, of.agent), parked));
    return { harness, run, of };
  };

  test("edited arguments make another intent with a key derived from them", async () => {
    const { of } = await ruled("edit", { to: "bob", usd: 7 }, replyWithCalls([["pay", "ada", 50]]));
    expect(of.done).toMatchObject([{ key: "trip_bob_v1", input: { to: "bob", usd: 7 } }]);
  });

  test("an edit that takes the key of another effect is refused", async () => {
    const { of, harness, run } = await ruled(
      "edit",
      { to: "bob", usd: 7 },
      replyWithCalls([["pay", "bob", 1]], [["pay", "ada", 50]]),
    );
    expect(of.done).toMatchObject([{ input: { to: "bob", usd: 1 } }]);
    expect(JSON.stringify(await toolResultsOf(harness, run))).toContain("KeyTaken");
  });

  test("a denied call uses no key, because no request was sent", async () => {
    const { of } = await ruled("deny", { to: "", usd: 0 }, replyWithCalls([["pay", "ada", 50]], [["pay", "ada", 9]]));
    expect(of.done).toMatchObject([{ key: "trip_ada_v1", input: { usd: 9 } }]);
  });
});

test("an operator who reconciles a call sees where its key comes from", async () => {
  const harness = createHarness();
  const run = (): never => {
    throw new OutcomeUnknown("the connection broke");
  };
  const of = sideEffectAgent({ reply: replyWithCalls([["pay", "ada", 5]]), pay: { key, effect: "unsafe" }, run });
  const payload = await beginRun(harness.world, of.agent, {});
  await attemptBeat(runnerOf(harness.world, of.agent), payload);
  const shown = await show(harness.world, payload.run);
  expect(shown?.unknown).toMatchObject([{ key: "trip_ada_v1", business: true, otherwise: "ask" }]);
});
