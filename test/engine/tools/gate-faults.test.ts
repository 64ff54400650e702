/**
 * A crash at each call of a person's surface and of the beats around a gate: the call runs as it was decided, an unsafe
 * one at most once, and no decision is lost or counted twice.
 */
import { describe, expect, test } from "vitest";
import type { Reply } from "../../../src/protocol/chain.ts";
import type { World } from "../../../src/ports/world.ts";
import type { Json } from "../../../src/core/json.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { type Asking, asked, gatesOf, say, stateOf } from "../../support/asking.ts";
import { type Crash, dying, everyCrash } from "../../support/crashing.ts";
import { attempt, drive, runnerOf } from "../../support/drive.ts";
import { BEAT_MS, type Stage, replyOf, rowOf, stage } from "../../support/stage.ts";

type As = "approve" | "deny" | "edit";

const ARGS: { readonly [A in As]: readonly Json[] } = { approve: [{ euros: 5 }], edit: [{ euros: 3 }], deny: [] };

async function waiting(effect: NonNullable<Asking["effect"]>) {
  const on = stage();
  const run = await asked(on, { effect });
  const gate = (await gatesOf(on.world, run.run))[0]?.gate ?? "";
  return { ...run, on, gate };
}

/** A beat that dies there, and the one that is tried after it; true if the first one did not die. */
async function beatAfter(
  { on, agent, payload }: Pick<Awaited<ReturnType<typeof waiting>>, "on" | "agent" | "payload">,
  crash: Crash,
): Promise<{ readonly isAlive: boolean; readonly reply: Reply }> {
  const replies: Reply[] = [];
  const isAlive = await dying(on.world, crash).survives(async (world) => {
    replies.push(await replyOf(attempt(runnerOf(world, agent), payload)));
  });
  const [first] = replies;
  if (first !== undefined) return { isAlive, reply: first };
  return { isAlive, reply: await replyOf(attempt(runnerOf(on.world, agent), payload, 1)) };
}

const decisionsOf = async (on: Stage, run: string) =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "HumanApprovalReceived" ? [event.decision] : [],
  );

describe.each(["approve", "edit", "deny"] as const)("to %s", (as) => {
  const sayIn = (world: World, run: string, gate: string) => say(world, { run, gate, as, args: { euros: 3 } });

  test("survives a crash of the surface at any of its calls: who asks again is told the same decision", async () => {
    const crashes = await everyCrash(async (crash) => {
      const { on, run, gate, runner, payload, ran } = await waiting("keyed");
      const isAlive = await dying(on.world, crash).survives((world) => sayIn(world, run, gate));
      const again = await sayIn(on.world, run, gate);
      expect(again.kind === "accepted" || (again.kind === "duplicate" && again.decision?.as === as)).toBe(true);
      expect(await drive(runner, payload)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(ARGS[as]);
      expect(await decisionsOf(on, run)).toMatchObject([{ as, by: "ann" }]);
      return isAlive;
    });
    // The row and its snapshot, the decision, and the row once more, before and after each.
    expect(crashes).toBeGreaterThanOrEqual(8);
  });

  test("survives a crash of the beat at any of its calls: a keyed call is done once under one key", async () => {
    const crashes = await everyCrash(async (crash) => {
      const { on, run, gate, runner, payload, ran, agent } = await waiting("keyed");
      await sayIn(on.world, run, gate);
      const { isAlive, reply } = await beatAfter({ on, agent, payload }, crash);
      if (reply.route === "beat") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
      expect(new Set(ran.map(({ key }) => key)).size).toBe(ARGS[as].length);
      for (const { args } of ran) expect([args]).toEqual(ARGS[as]);
      expect(await decisionsOf(on, run)).toMatchObject([{ as }]);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(12);
  });

  test("survives a crash of the beat at any of its calls: an unsafe call is never started twice by itself", async () => {
    let asked = 0;
    await everyCrash(async (crash) => {
      const { on, run, gate, runner, payload, ran, agent } = await waiting("unsafe");
      await sayIn(on.world, run, gate);
      const { isAlive, reply } = await beatAfter({ on, agent, payload }, crash);
      const [open] = (await stateOf(on.world, run)).open;
      if (open?.status === "unknown") {
        asked += 1;
        on.clock.moveTo(Math.max(on.clock.now() + BEAT_MS, open.askFrom ?? 0));
        const answer = ran.length > 0 ? "succeeded" : "retry";
        const said = { run, call: "c1", as: answer, result: null, by: "ann", note: null } as const;
        expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
      }
      if (reply.route !== "done") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(ARGS[as]);
      expect((await decisionsOf(on, run)).length).toBe(1);
      const isDenied = as === "deny";
      expect(await ledger(on.world, run)).toMatchObject([{ status: isDenied ? "failed" : expect.any(String) }]);
      return isAlive;
    });
    // Between the commit that releases it and the one that knows its result.
    expect(asked > 0).toBe(as !== "deny");
  });
});

describe("the expiry of a gate", () => {
  test("survives a crash at any call: it is denied once, and the call never runs", async () => {
    const crashes = await everyCrash(async (crash) => {
      const { on, run, runner, payload, ran, agent } = await waiting("unsafe");
      on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
      const { isAlive, reply } = await beatAfter({ on, agent, payload }, crash);
      if (reply.route !== "done") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(ran).toEqual([]);
      expect(await decisionsOf(on, run)).toMatchObject([{ as: "deny", by: "expiry" }]);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(14);
  });

  test("gives way to a decision that comes between the crash and the next attempt, unless it was committed", async () => {
    const outcomes = new Set<string>();
    await everyCrash(async (crash) => {
      const { on, run, gate, payload, ran, agent } = await waiting("unsafe");
      on.clock.moveTo((await gatesOf(on.world, run))[0]?.expiresAt ?? 0);
      const isAlive = await dying(on.world, crash).survives((world) => attempt(runnerOf(world, agent), payload));
      if (isAlive) return true;
      const said = await say(on.world, { run, gate, as: "approve" });
      outcomes.add(said.kind);
      const reply = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
      if (reply.route === "beat") await drive(runnerOf(on.world, agent), reply);
      expect(ran).toHaveLength(said.kind === "accepted" ? 1 : 0);
      expect(await decisionsOf(on, run)).toMatchObject([{ by: said.kind === "accepted" ? "ann" : "expiry" }]);
      return false;
    });
    expect(outcomes).toEqual(new Set(["accepted", "duplicate"]));
  });
});
