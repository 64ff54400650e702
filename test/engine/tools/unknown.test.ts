/** What follows when nobody knows whether a call happened: each policy, for each effect that can come to that. */
import { describe, expect, test } from "vitest";
import type { OnUnknown } from "../../../src/core/event.ts";
import { OutcomeUnknown, type Probe } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { resultsOf } from "../../support/asking.ts";
import { asks, deeds } from "../../support/deeds.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { SETTLE_MS, SKEW_MS, passing, replyOf, rowOf, stage } from "../../support/stage.ts";
import { rulesOf } from "../../support/steps.ts";

type Effect = "none" | "keyed" | "probed" | "unsafe";

const lost = (): never => {
  throw new OutcomeUnknown("the answer was lost");
};

/** A run of one call whose outcome is unknown by now. */
async function unknown(of: { readonly effect: Effect; readonly onUnknown: OnUnknown | null }) {
  const on = stage();
  const { effect, onUnknown } = of;
  const probe = effect === "probed" ? { probe: (): Probe => ({ kind: "unknown" }) } : {};
  const made = deeds({ reply: asks([["pay", "ada", 5]]), pay: { effect, onUnknown, ...probe }, run: lost });
  const runner = runnerOf(on.world, made.agent);
  const payload = await begin(on.world, made.agent, {});
  let reply = await passing(on, drive(runner, payload));
  // A probe waits for what may still land.
  if (effect === "probed") {
    on.clock.moveTo(rowOf(on, reply.run).wakeAt ?? 0);
    reply = await passing(on, drive(runner, reply));
  }
  return { on, runner, reply, run: payload.run, done: made.done };
}

describe.each(["unsafe", "probed"] as const)("%s", (effect) => {
  test.each([null, "ask"] as const)("%s: waits for a person, however long", async (onUnknown) => {
    const { on, reply, run } = await unknown({ effect, onUnknown });
    expect(reply.route).toBe("park");
    expect(await show(on.world, run)).toMatchObject({ status: "blocked", unknown: [{ otherwise: "ask" }] });
  });

  test("tell: the model is told, to the millisecond when it can be known that nothing lands any more", async () => {
    const { on, runner, reply, run, done } = await unknown({ effect, onUnknown: "tell" });
    const askFrom = on.clock.now() + SKEW_MS + SETTLE_MS;
    expect(reply.route).toBe("wait");
    expect(rowOf(on, run)).toMatchObject({ status: "blocked", wakeAt: askFrom });
    expect(await show(on.world, run)).toMatchObject({ unknown: [{ otherwise: "tell", askFrom }] });
    on.clock.moveTo(askFrom - 1);
    const still = await replyOf(attempt(runner, reply));
    expect([still.route, await resultsOf(on, run)]).toEqual(["wait", []]);
    on.clock.moveTo(askFrom);
    expect((await passing(on, drive(runner, still))).route).toBe("done");
    expect(await resultsOf(on, run)).toMatchObject([{ outcome: "unknown" }]);
    expect(await rulesOf(on.world, run)).toContain("outcome stays unknown, the model is told");
    expect(await ledger(on.world, run)).toMatchObject([{ status: "unknown" }]);
    expect(done).toHaveLength(1);
  });

  test("fail: the run fails as OutcomeUnknown, and says which key to look for", async () => {
    const { on, runner, reply, run, done } = await unknown({ effect, onUnknown: "fail" });
    on.clock.moveTo(rowOf(on, run).wakeAt ?? 0);
    expect((await passing(on, drive(runner, reply))).route).toBe("failed");
    const shown = await show(on.world, run);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "OutcomeUnknown" } });
    expect(shown?.failure?.message).toContain(done[0]?.key);
    expect(await rulesOf(on.world, run)).toContain("outcome stays unknown, the run fails");
    expect(await ledger(on.world, run)).toMatchObject([{ status: "unknown" }]);
  });

  test.each(["tell", "fail"] as const)("%s: a person who knows is heard before", async (onUnknown) => {
    const { on, runner, reply, run } = await unknown({ effect, onUnknown });
    const said = { run, call: "c1", as: "succeeded", result: "paid", by: "ann", note: null } as const;
    expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
    on.clock.moveTo(rowOf(on, run).wakeAt ?? 0);
    expect((await passing(on, drive(runner, reply))).route).toBe("done");
    expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled" }]);
    expect(await rulesOf(on.world, run)).not.toContainEqual(expect.stringContaining("stays unknown"));
  });
});

describe.each(["none", "keyed"] as const)("%s, after its last try", (effect) => {
  test.each([null, "tell"] as const)(
    "%s: the model is told at once, and an event names the rule",
    async (onUnknown) => {
      const { on, reply, run, done } = await unknown({ effect, onUnknown });
      expect([reply.route, done.length]).toEqual(["done", 3]);
      const events = (await timeline(on.world, { run, after: 0 })) ?? [];
      const after = events.slice(events.findIndex(({ kind }) => kind === "ToolOutcomeUnknown"));
      expect(after.slice(0, 2)).toMatchObject([
        { kind: "ToolOutcomeUnknown", otherwise: "tell" },
        { kind: "RecoveryDecided", action: { kind: "tell", call: "c1" }, version: after[0]?.version },
      ]);
      expect(JSON.stringify(await resultsOf(on, run))).toContain("unknown after 3 tries with one key");
    },
  );

  test("ask: a person is asked", async () => {
    const { on, reply, run } = await unknown({ effect, onUnknown: "ask" });
    expect(reply.route).toBe("park");
    expect(await show(on.world, run)).toMatchObject({ status: "blocked", unknown: [{ otherwise: "ask" }] });
  });

  test("fail: the run fails, once nothing can land any more", async () => {
    const { on, runner, reply, run } = await unknown({ effect, onUnknown: "fail" });
    expect(reply.route).toBe("wait");
    on.clock.moveTo(rowOf(on, run).wakeAt ?? 0);
    expect((await passing(on, drive(runner, reply))).route).toBe("failed");
    expect(await show(on.world, run)).toMatchObject({ failure: { code: "OutcomeUnknown" } });
  });
});
