/** Decisions that come to nothing: their authors are told, and the run records that they were ignored, and why. */
import { describe, expect, test } from "vitest";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { asked, asking, gatesOf, pays, say } from "../../support/asking.ts";
import { type Crash, dying, everyCrash } from "../../support/crashing.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { OVER, type Stage, passing, rowOf, stage } from "../../support/stage.ts";
import { frozenBefore, rest } from "../../support/steps.ts";

const ignoredIn = async (on: Stage, run: string) =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "DecisionIgnored");

const approval = (run: string, gate: string) =>
  ({ run, gate, as: "approve", args: null, by: "ann", note: null }) as const;

/** A run that waits at a gate, and what a person says of that gate. */
async function gated() {
  const on = stage();
  const waiting = await asked(on);
  const gate = (await gatesOf(on.world, waiting.run))[0]?.gate ?? "";
  return { on, ...waiting, gate };
}

describe("a decision about a gate that is still open", () => {
  test("of a run that is asked to cancel is refused before any write, and says why", async () => {
    const { on, run, gate } = await gated();
    await sendRequest(on.world, { run, want: "cancel" });
    const before = rowOf(on, run);
    const told = await decide(on.world, approval(run, gate));
    expect(told).toEqual({ kind: "stale", gates: [], why: "the run is being cancelled, so nothing more is started" });
    expect([rowOf(on, run), on.world.store.messages.size]).toEqual([before, 0]);
  });

  test("counts no more once the run is asked to cancel: it is recorded, shown and told", async () => {
    const { on, run, gate, runner, payload, ran } = await gated();
    expect(await say(on.world, { run, as: "approve" })).toEqual({ kind: "accepted", stage: "waits" });
    await sendRequest(on.world, { run, want: "cancel" });
    const pending = { kind: "noEffect", why: expect.stringContaining("is being cancelled"), gates: [] };
    expect(await decide(on.world, approval(run, gate))).toEqual(pending);
    await drive(runner, payload);
    expect(rowOf(on, run).status).toBe("cancelled");
    expect(await ignoredIn(on, run)).toMatchObject([{ gate, as: "approve", by: "ann", why: pending.why }]);
    expect((await show(on.world, run))?.ignoredDecision).toMatchObject({ call: "c1", gate, as: "approve", by: "ann" });
    expect(await decide(on.world, approval(run, gate))).toEqual(pending);
    expect(ran).toEqual([]);
  });

  test("about more budget counts no more either, and goes by the name of the budget", async () => {
    const on = stage();
    const plain = asking({ approval: "never" });
    const budget = { ...plain.budget, beats: 1, onExhausted: "ask" as const };
    const agent = { ...plain, budget };
    const { run, payload } = await started(on, agent);
    const [gate] = (await show(on.world, run))?.gates ?? [];
    expect(gate?.call).toBe("budget");
    await decide(on.world, { ...approval(run, gate?.gate ?? ""), more: { beats: 5 } });
    await sendRequest(on.world, { run, want: "cancel" });
    await drive(runnerOf(on.world, agent), payload);
    expect((await show(on.world, run))?.ignoredDecision).toMatchObject({ call: "budget", as: "approve" });
  });
});

describe("a decision that comes to a gate which was closed meanwhile", () => {
  /** A person has looked at the gate and is slow; `meanwhile` happens, and then the run takes the decision in. */
  async function slow(meanwhile: (at: Awaited<ReturnType<typeof gated>>) => Promise<unknown>) {
    const at = await gated();
    const { on, run, gate, agent } = at;
    const frozen = frozenBefore(on.world, "deliver");
    const told = decide(frozen.world, approval(run, gate));
    await rest();
    await meanwhile(at);
    frozen.thaw();
    const outcome = await told;
    const { born, chain, epoch } = rowOf(on, run);
    await drive(runnerOf(on.world, agent), { run, born, chain, epoch, agent: agent.name });
    return { ...at, outcome };
  }

  test("since the run began again is told so at once, and recorded when it is taken in", async () => {
    const { on, run, gate, ran, outcome } = await slow(async ({ on: { world }, run: id, runner, payload }) => {
      await requestCompensation(world, { run: id, next: "restart", by: "bob" });
      await drive(runner, payload);
    });
    const why = "the attempt that its gate belonged to has ended, and the run began again";
    const gates = (await gatesOf(on.world, run)).map((each) => each.gate);
    expect(outcome).toEqual({ kind: "noEffect", why, gates });
    expect(await ignoredIn(on, run)).toMatchObject([{ gate, as: "approve", by: "ann", why }]);
    expect((await show(on.world, run))?.ignoredDecision).toMatchObject({ gate, why });
    expect(ran).toEqual([]);
  });

  test("since its gate expired is told the denial that counts, and recorded as well", async () => {
    const { on, run, gate, ran, outcome } = await slow(async ({ on: { clock, world }, payload, agent }) => {
      clock.moveTo(clock.now() + world.limits.gateMs);
      await drive(runnerOf(world, { ...agent, model: asking({ reply: () => PAYS_MORE }).model }), payload);
    });
    expect(outcome).toMatchObject({ kind: "duplicate", decision: { as: "deny", by: "expiry" } });
    const why = "its gate was closed before the run read the decision";
    expect([ran, await ignoredIn(on, run)]).toMatchObject([[], [{ gate, by: "ann", why }]]);
  });
});

const PAYS_MORE = { calls: [{ tool: "pay", args: { euros: 7 } }] };

async function started(on: Stage, agent: ReturnType<typeof asking>) {
  const payload = await begin(on.world, agent, {});
  return { run: payload.run, payload: await drive(runnerOf(on.world, agent), payload) };
}

describe("a sender that waits", () => {
  test("is told that its decision counts as soon as that is committed", async () => {
    const { on, run, gate, runner, payload, ran } = await gated();
    const told = decide(on.world, { ...approval(run, gate), waitMs: 5_000 });
    await rest();
    await passing(on, drive(runner, payload));
    expect(await passing(on, told)).toEqual({ kind: "accepted", stage: "applied" });
    expect(ran).toHaveLength(1);
  });

  test("is told that the run began again in between", async () => {
    const { on, run, gate, runner, payload, ran } = await gated();
    const told = decide(on.world, { ...approval(run, gate), waitMs: 5_000 });
    await rest();
    await requestCompensation(on.world, { run, next: "restart", by: "bob" });
    await passing(on, drive(runner, payload));
    const [open] = await gatesOf(on.world, run);
    expect(await passing(on, told)).toEqual({
      ...{ kind: "noEffect", why: expect.stringContaining("begin again"), gates: [open?.gate] },
    });
    expect([ran, await ignoredIn(on, run)]).toMatchObject([[], [{ gate }]]);
  });

  test("waits no longer than it wants to, and not at all for a run that is paused", async () => {
    const { on, run, gate } = await gated();
    const begun = on.clock.now();
    const told = decide(on.world, { ...approval(run, gate), waitMs: 700 });
    expect(await passing(on, told)).toEqual({ kind: "accepted", stage: "waits" });
    expect(on.clock.now() - begun).toBe(700);
    const paused = await gated();
    await sendRequest(paused.on.world, { run: paused.run, want: "pause" });
    const at = paused.on.clock.now();
    const said = decide(paused.on.world, { ...approval(paused.run, paused.gate), waitMs: 700 });
    expect(await said).toEqual({ kind: "accepted", stage: "waits" });
    expect(paused.on.clock.now()).toBe(at);
  });

  test("is told that its effect is not known where the history is lost", async () => {
    const on = stage();
    const reply = pays({ euros: 1 });
    const { run, runner, payload } = await asked(on, { reply: (talk) => (talk.calls.length < 1 ? reply(talk) : OVER) });
    const [gate] = await gatesOf(on.world, run);
    const told = decide(on.world, { ...approval(run, gate?.gate ?? ""), waitMs: 5_000 });
    await rest();
    await passing(on, drive(runner, payload));
    const newest = rowOf(on, run).snapshot.key;
    for (const key of on.world.store.objects.keys()) {
      if (key.includes("/snapshots/") && key !== newest) on.world.store.objects.delete(key);
    }
    expect(await passing(on, told)).toEqual({ kind: "accepted", stage: "unknown" });
  });
});

test("a death at any call of the beat that begins again: the decision is ignored once, and nothing runs for it", async () => {
  const crashes = await everyCrash(async (crash: Crash) => {
    const { on, run, gate, agent, payload, ran } = await gated();
    await say(on.world, { run, as: "approve" });
    await requestCompensation(on.world, { run, next: "restart", by: "bob" });
    const isAlive = await dying(on.world, crash).survives((world) => attempt(runnerOf(world, agent), payload));
    if (!isAlive) await attempt(runnerOf(on.world, agent), payload, 1);
    const { chain, epoch, born } = rowOf(on, run);
    await drive(runnerOf(on.world, agent), { run, born, chain, epoch, agent: agent.name });
    expect(await ignoredIn(on, run)).toMatchObject([{ gate, by: "ann" }]);
    const open = (await gatesOf(on.world, run)).map((each) => each.gate);
    expect(await decide(on.world, approval(run, gate))).toMatchObject({ kind: "noEffect", gates: open });
    expect([open.includes(gate), ran]).toEqual([false, []]);
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(8);
});
