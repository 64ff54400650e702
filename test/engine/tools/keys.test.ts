/** Business keys: an agent's own names for its deeds. One key is one deed, whoever asks for it and however often. */
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/ports/agent.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { OutcomeUnknown } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { resultsOf, stateOf } from "../../support/asking.ts";
import { type Deeds, type Order, asks, deeds } from "../../support/deeds.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { type Stage, passing, stage } from "../../support/stage.ts";

const key = ({ to }: Order): string => `trip_${to}_v1`;

/** The run, driven until it ends or waits. */
async function played(on: Stage, { agent }: Deeds) {
  const payload = await begin(on.world, agent, {});
  const reply = await passing(on, drive(runnerOf(on.world, agent), payload));
  return { run: reply.run, reply };
}

const intentsOf = async (on: Stage, run: string) =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "ToolIntended");

test("it is what the other side gets, committed with the intent, and told from a derived one", async () => {
  const on = stage();
  const of = deeds({ reply: asks([["pay", "ada", 5]], [["mail", "ada", 5]]), pay: { key } });
  const { run } = await played(on, of);
  expect(of.done.map((deed) => deed.key)).toEqual(["trip_ada_v1", expect.stringMatching(/^mail-c2-/)]);
  expect(await intentsOf(on, run)).toMatchObject([{ key: "trip_ada_v1", business: true }, { call: "c2" }]);
  const [own, derived] = (await ledger(on.world, run)) ?? [];
  expect(own).toMatchObject({ key: "trip_ada_v1", business: true, status: "succeeded" });
  expect(derived).not.toHaveProperty("business");
});

test("it may depend on the attempt, which a restart raises", async () => {
  const on = stage();
  const of = deeds({ reply: asks([["pay", "ada", 5]]), pay: { key: (_, { attempt: nth }) => `pay_${nth}` } });
  await played(on, of);
  expect(of.done).toMatchObject([{ key: "pay_1" }]);
});

test("what its function does to the arguments is not what is run", async () => {
  const on = stage();
  const spoils = (input: Order): string => {
    (input as { usd: number }).usd = 999;
    return "k";
  };
  const of = deeds({ reply: asks([["pay", "ada", 5]]), pay: { key: spoils } });
  await played(on, of);
  expect(of.done).toMatchObject([{ input: { usd: 5 } }]);
});

describe("a call is refused before any intent, and the model is told why,", () => {
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
  ])("where its key %s", async (_, made, why) => {
    const on = stage();
    const of = deeds({ reply: asks([["pay", "ada", 5]]), pay: { key: made as Tool["key"] & {} } });
    const { run, reply } = await played(on, of);
    expect([reply.route, of.done, await intentsOf(on, run)]).toEqual(["done", [], []]);
    const [told] = await resultsOf(on, run);
    expect(told).toMatchObject({ outcome: "failed" });
    expect(JSON.stringify(told)).toContain("KeyRefused");
    expect(JSON.stringify(told)).toContain(why);
  });

  test.each([
    ["with other arguments, some replies later", asks([["pay", "ada", 5]], [["pay", "bob", 1]], [["pay", "ada", 6]])],
    [
      "with other arguments, in the same reply",
      asks([
        ["pay", "ada", 5],
        ["pay", "bob", 1],
        ["pay", "ada", 6],
      ]),
    ],
    ["by another tool", asks([["pay", "ada", 5]], [["pay", "bob", 1]], [["mail", "ada", 5]])],
  ])("where its key was used %s", async (_, reply) => {
    const on = stage();
    const of = deeds({ reply, pay: { key }, mail: { key } });
    const { run } = await played(on, of);
    expect(of.done.map(({ input }) => input)).toEqual([
      { to: "ada", usd: 5 },
      { to: "bob", usd: 1 },
    ]);
    const told = (await resultsOf(on, run)).at(-1);
    expect(await ledger(on.world, run)).toMatchObject([{}, {}, { status: "failed", attempts: 0, key: null }]);
    expect(JSON.stringify([told, (await ledger(on.world, run))?.at(-1)])).toContain("refused before it was started");
    expect(JSON.stringify(await resultsOf(on, run))).toContain("KeyTaken: the key trip_ada_v1");
  });
});

describe("the very same call under its key again", () => {
  const twice = asks([["pay", "ada", 5]], [["pay", "ada", 5]]);

  test("is the same effect where the other side knows keys", async () => {
    const on = stage();
    const of = deeds({ reply: twice, pay: { key } });
    await played(on, of);
    expect(of.done.map((deed) => deed.key)).toEqual(["trip_ada_v1", "trip_ada_v1"]);
  });

  test.each(["probed", "unsafe"] as const)("would be a second one where it does not: %s", async (effect) => {
    const on = stage();
    const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
    const of = deeds({ reply: twice, pay: { key, effect, ...probe } });
    const { run } = await played(on, of);
    expect(of.done).toHaveLength(1);
    expect(JSON.stringify(await resultsOf(on, run))).toContain("KeyUsed: call c1 is the same call");
  });

  test("also beside the first one in one reply", async () => {
    const on = stage();
    const of = deeds({
      reply: asks([
        ["pay", "ada", 5],
        ["pay", "ada", 5],
      ]),
      pay: { key, effect: "unsafe" },
    });
    const { run } = await played(on, of);
    expect(of.done).toHaveLength(1);
    expect(JSON.stringify(await resultsOf(on, run))).toContain("is under way");
  });

  test("is run where the first one failed: it did not happen", async () => {
    const on = stage();
    let runs = 0;
    const run = (): string => {
      runs += 1;
      if (runs === 1) throw new Error("the bank is closed");
      return "paid";
    };
    await played(on, deeds({ reply: twice, pay: { key, effect: "unsafe" }, run }));
    expect(runs).toBe(2);
  });
});

test("every try of a call has the key that was committed, whatever the code would make of it by then", async () => {
  const on = stage();
  let made = 0;
  const run = (): string => {
    if (of.done.length < 3) throw new OutcomeUnknown("the answer was lost");
    return "paid";
  };
  const of: Deeds = deeds({ reply: asks([["pay", "ada", 5]]), pay: { key: () => `key_${(made += 1)}` }, run });
  await played(on, of);
  expect(of.done.map((deed) => deed.key)).toEqual(["key_1", "key_1", "key_1"]);
});

describe("at a gate", () => {
  const ruled = async (as: "edit" | "deny" | "approve", args: Order, reply: ReturnType<typeof asks>) => {
    const on = stage();
    const approval = ({ usd }: Order): string | false => (usd > 10 ? "it is much" : false);
    const of = deeds({ reply, pay: { key, approval } });
    const { run, reply: parked } = await played(on, of);
    const gate = (await stateOf(on.world, run)).open[0]?.gate?.gate ?? "";
    expect(await decide(on.world, { run, gate, as, args: { ...args }, by: "ann", note: null })).toMatchObject({
      kind: "accepted",
    });
    await passing(on, drive(runnerOf(on.world, of.agent), parked));
    return { on, run, of };
  };

  test("other arguments are another intent: its key is made of them", async () => {
    const { of } = await ruled("edit", { to: "bob", usd: 7 }, asks([["pay", "ada", 50]]));
    expect(of.done).toMatchObject([{ key: "trip_bob_v1", input: { to: "bob", usd: 7 } }]);
  });

  test("an edit that takes a key which is another deed's is refused", async () => {
    const { of, on, run } = await ruled("edit", { to: "bob", usd: 7 }, asks([["pay", "bob", 1]], [["pay", "ada", 50]]));
    expect(of.done).toMatchObject([{ input: { to: "bob", usd: 1 } }]);
    expect(JSON.stringify(await resultsOf(on, run))).toContain("KeyTaken");
  });

  test("a denied call used no key: nothing of it left", async () => {
    const { of } = await ruled("deny", { to: "", usd: 0 }, asks([["pay", "ada", 50]], [["pay", "ada", 9]]));
    expect(of.done).toMatchObject([{ key: "trip_ada_v1", input: { usd: 9 } }]);
  });
});

test("whoever has to say what became of a call sees whose key it went out under", async () => {
  const on = stage();
  const run = (): never => {
    throw new OutcomeUnknown("the connection broke");
  };
  const of = deeds({ reply: asks([["pay", "ada", 5]]), pay: { key, effect: "unsafe" }, run });
  const payload = await begin(on.world, of.agent, {});
  await attempt(runnerOf(on.world, of.agent), payload);
  const shown = await show(on.world, payload.run);
  expect(shown?.unknown).toMatchObject([{ key: "trip_ada_v1", business: true, otherwise: "ask" }]);
});
