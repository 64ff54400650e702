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
import {
  type ApprovalAgentOptions,
  runUntilGate,
  gatesOf,
  decideGate,
  stateOf,
} from "../../support/agents/approval-agent.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { attemptBeat, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, beatReply, createHarness, MS } from "../../support/harness/harness.ts";

type As = "approve" | "deny" | "edit";

const ARGS: { readonly [A in As]: readonly Json[] } = { approve: [{ euros: 5 }], edit: [{ euros: 3 }], deny: [] };

async function waiting(effect: NonNullable<ApprovalAgentOptions["effect"]>) {
  const harness = createHarness();
  const run = await runUntilGate(harness, { effect });
  const gate = (await gatesOf(harness.world, run.run))[0]?.gate ?? "";
  return { ...run, harness, gate };
}

/** A beat that dies there, and the one that is tried after it; true if the first one did not die. */
async function beatAfter(
  { harness, agent, payload }: Pick<Awaited<ReturnType<typeof waiting>>, "harness" | "agent" | "payload">,
  crash: CrashPoint,
): Promise<{ readonly isAlive: boolean; readonly reply: Reply }> {
  const replies: Reply[] = [];
  const isAlive = await crashAtCall(harness.world, crash).survives(async (world) => {
    replies.push(await beatReply(attemptBeat(runnerOf(world, agent), payload)));
  });
  const [first] = replies;
  if (first !== undefined) return { isAlive, reply: first };
  return { isAlive, reply: await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1)) };
}

const decisionsOf = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "HumanApprovalReceived" ? [event.decision] : [],
  );

describe.each(["approve", "edit", "deny"] as const)("to %s", (as) => {
  const sayIn = (world: World, run: string, gate: string) => decideGate(world, { run, gate, as, args: { euros: 3 } });

  test("survives a crash of the surface at any of its calls: a repeated request gets the same decision", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const { harness, run, gate, runner, payload, ran } = await waiting("keyed");
      const isAlive = await crashAtCall(harness.world, crash).survives((world) => sayIn(world, run, gate));
      const again = await sayIn(harness.world, run, gate);
      expect(again.kind === "accepted" || (again.kind === "duplicate" && again.decision?.as === as)).toBe(true);
      expect(await drive(runner, payload)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(ARGS[as]);
      expect(await decisionsOf(harness, run)).toMatchObject([{ as, by: "ann" }]);
      return isAlive;
    });
    // The row and its snapshot, the decision, and the row once more, before and after each.
    expect(crashes).toBeGreaterThanOrEqual(8);
  });

  test("survives a crash of the beat at any of its calls: a keyed call happens once under one key", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const { harness, run, gate, runner, payload, ran, agent } = await waiting("keyed");
      await sayIn(harness.world, run, gate);
      const { isAlive, reply } = await beatAfter({ harness, agent, payload }, crash);
      if (reply.route === "beat") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
      expect(new Set(ran.map(({ key }) => key)).size).toBe(ARGS[as].length);
      for (const { args } of ran) expect([args]).toEqual(ARGS[as]);
      expect(await decisionsOf(harness, run)).toMatchObject([{ as }]);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(12);
  });

  test("survives a crash of the beat at any of its calls: an unsafe call is never repeated without an answer", async () => {
    let asked = 0;
    await forEachCrashPoint(async (crash) => {
      const { harness, run, gate, runner, payload, ran, agent } = await waiting("unsafe");
      await sayIn(harness.world, run, gate);
      const { isAlive, reply } = await beatAfter({ harness, agent, payload }, crash);
      const [open] = (await stateOf(harness.world, run)).open;
      if (open?.status === "unknown") {
        asked += 1;
        harness.clock.moveTo(Math.max(harness.clock.now() + MS.beat, open.reconcilableFrom ?? 0));
        const answer = ran.length > 0 ? "succeeded" : "retry";
        const said = { run, call: "c1", as: answer, result: null, by: "ann", note: null } as const;
        expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
      }
      if (reply.route !== "done") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(ran.map(({ args }) => args)).toEqual(ARGS[as]);
      expect((await decisionsOf(harness, run)).length).toBe(1);
      const isDenied = as === "deny";
      expect(await ledger(harness.world, run)).toMatchObject([{ status: isDenied ? "failed" : expect.any(String) }]);
      return isAlive;
    });
    // Between the commit that releases it and the one that knows its result.
    expect(asked > 0).toBe(as !== "deny");
  });
});

describe("the expiry of a gate", () => {
  test("survives a crash at any call: the call is denied once and never runs", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const { harness, run, runner, payload, ran, agent } = await waiting("unsafe");
      harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
      const { isAlive, reply } = await beatAfter({ harness, agent, payload }, crash);
      if (reply.route !== "done") expect(await drive(runner, reply)).toMatchObject({ route: "done" });
      expect(ran).toEqual([]);
      expect(await decisionsOf(harness, run)).toMatchObject([{ as: "deny", by: "expiry" }]);
      return isAlive;
    });
    expect(crashes).toBeGreaterThanOrEqual(14);
  });

  test("yields to a decision between the crash and the next attempt, unless it was committed", async () => {
    const outcomes = new Set<string>();
    await forEachCrashPoint(async (crash) => {
      const { harness, run, gate, payload, ran, agent } = await waiting("unsafe");
      harness.clock.moveTo((await gatesOf(harness.world, run))[0]?.expiresAt ?? 0);
      const isAlive = await crashAtCall(harness.world, crash).survives((world) =>
        attemptBeat(runnerOf(world, agent), payload),
      );
      if (isAlive) return true;
      const said = await decideGate(harness.world, { run, gate, as: "approve" });
      outcomes.add(said.kind);
      const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
      if (reply.route === "beat") await drive(runnerOf(harness.world, agent), reply);
      expect(ran).toHaveLength(said.kind === "accepted" ? 1 : 0);
      expect(await decisionsOf(harness, run)).toMatchObject([{ by: said.kind === "accepted" ? "ann" : "expiry" }]);
      return false;
    });
    expect(outcomes).toEqual(new Set(["accepted", "duplicate"]));
  });
});
