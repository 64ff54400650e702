/** Arguments that a person gives in place of the model's: checked before they are sent, and asked about again if need be. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { asked, asking, gatesOf, pays, resultsOf, say, stateOf } from "../../support/asking.ts";
import { type Crash, dying, everyCrash } from "../../support/crashing.ts";
import { attempt, drive, runnerOf } from "../../support/drive.ts";
import { type Stage, passing, replyOf, rowOf, stage } from "../../support/stage.ts";
import { rest } from "../../support/steps.ts";

const WRONG: Json = { euros: "three" };
const WHY = /^ArgumentsInvalid: the arguments of the last decision do not fit pay: euros: Invalid input/;

const asksIn = async (on: Stage, run: string) =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "ApprovalRequested");

describe("arguments that do not fit the tool", () => {
  test("are refused before anything is sent, with the path of what is wrong, where the agent is at hand", async () => {
    const on = stage();
    const { run, agent } = await asked(on);
    const [gate] = await gatesOf(on.world, run);
    const before = rowOf(on, run);
    const said = { run, gate: gate?.gate ?? "", as: "edit", by: "ann", note: null, agent } as const;
    const refused = await decide(on.world, { ...said, args: WRONG });
    expect(refused).toEqual({ kind: "argsInvalid", why: expect.stringMatching(/^euros: Invalid input/), asks: null });
    expect([rowOf(on, run), on.world.store.messages.size]).toEqual([before, 0]);
    expect(await decide(on.world, { ...said, args: { euros: 3 } })).toMatchObject({ kind: "accepted" });
  });

  test("leave the call unrun and its gate open again, with another name and what did not fit", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    const [first] = await gatesOf(on.world, run);
    await say(on.world, { run, as: "edit", args: WRONG });
    const reply = await drive(runner, payload);
    expect(reply).toMatchObject({ route: "park" });
    expect([ran, await resultsOf(on, run)]).toEqual([[], []]);
    const [second] = await gatesOf(on.world, run);
    expect(second).toMatchObject({ reason: expect.stringMatching(WHY), argsHash: first?.argsHash, decision: null });
    expect(second?.gate).not.toBe(first?.gate);
    expect(second?.expiresAt).toBe(on.clock.now() + on.world.limits.gateMs);
    // The person who is asked again sees the model's arguments, and may approve them as they are.
    expect((await show(on.world, run))?.gates).toMatchObject([{ call: "c1", args: { euros: 5 }, decided: false }]);
    expect(rowOf(on, run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
    expect(await say(on.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    expect(await ledger(on.world, run)).toMatchObject([{ status: "succeeded", attempts: 1 }]);
  });

  test("are asked about as often as they are given, each time at another gate, and end with arguments that fit", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on);
    let reply = payload;
    for (let round = 1; round <= 3; round += 1) {
      await say(on.world, { run, as: "edit", args: WRONG });
      reply = await drive(runner, reply);
      expect((await stateOf(on.world, run)).open).toMatchObject([{ status: "gated", edited: null, askedAgain: round }]);
    }
    const asks = await asksIn(on, run);
    expect(new Set(asks.map(({ gate }) => gate)).size).toBe(4);
    expect(asks.map(({ again }) => again)).toEqual([undefined, 1, 2, 3]);
    await say(on.world, { run, as: "edit", args: { euros: 3 } });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }]);
  });

  test("of one call of several hold up that call alone", async () => {
    const on = stage();
    const { run, runner, payload, ran } = await asked(on, { reply: pays({ euros: 1 }, { euros: 2 }) });
    const [one, two] = await gatesOf(on.world, run);
    await say(on.world, { run, gate: one?.gate ?? "", as: "edit", args: WRONG });
    await say(on.world, { run, gate: two?.gate ?? "", as: "approve" });
    await drive(runner, payload);
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 2 }]);
    expect((await show(on.world, run))?.gates).toMatchObject([{ call: "c1", reason: expect.stringMatching(WHY) }]);
  });

  test("tell their author so, where the sender waits for the beat", async () => {
    const on = stage();
    const { run, runner, payload } = await asked(on);
    const [gate] = await gatesOf(on.world, run);
    const said = { run, gate: gate?.gate ?? "", as: "edit", args: WRONG, by: "ann", note: null } as const;
    const told = decide(on.world, { ...said, waitMs: 5_000 });
    await rest();
    await passing(on, drive(runner, payload));
    const outcome = await passing(on, told);
    const [open] = await gatesOf(on.world, run);
    expect(outcome).toEqual({ kind: "argsInvalid", why: expect.stringMatching(WHY), asks: open?.gate });
  });

  test("are asked about as well where only a version that is deployed meanwhile refuses them", async () => {
    const on = stage();
    const { run, payload, ran } = await asked(on);
    await say(on.world, { run, as: "edit", args: { euros: 3, note: "soon" } });
    const strict = asking({ ran, version: "2" });
    const { pay } = strict.tools;
    const agent = { ...strict, tools: { pay: { ...pay, input: { safeParse: withoutNote } } } } as unknown as Agent;
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "park" });
    expect((await show(on.world, run))?.gates).toMatchObject([
      { reason: expect.stringContaining("note: not any more") },
    ]);
  });
});

const withoutNote = ({ note }: { readonly note?: string }) =>
  note === undefined
    ? { success: true, data: {} }
    : { success: false, error: { issues: [{ path: ["note"], message: "not any more" }] } };

test("a death at any call of the beat that asks again asks once, and loses neither the gate nor the call", async () => {
  const crashes = await everyCrash(async (crash: Crash) => {
    const on = stage();
    const { run, agent, payload, ran } = await asked(on);
    await say(on.world, { run, as: "edit", args: WRONG });
    const isAlive = await dying(on.world, crash).survives((world) => attempt(runnerOf(world, agent), payload));
    const reply = isAlive ? payload : await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
    expect(await asksIn(on, run)).toMatchObject([{}, { again: 1, reason: expect.stringMatching(WHY) }]);
    await say(on.world, { run, as: "approve" });
    const { chain, epoch } = rowOf(on, run);
    expect(await drive(runnerOf(on.world, agent), { ...reply, chain, epoch })).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(8);
});
