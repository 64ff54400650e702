/** Probed tools: after a crash or a silence the other side is asked what became of the call, never too early. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../../src/core/limits.ts";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import { OutcomeUnknown } from "../../../src/index.ts";
import { ledger, show, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  type ScriptedAgentOptions,
  scriptedAgent,
  dieInTool,
  neverSettles,
  type Harness,
  beatReply,
  createHarness,
  MS,
} from "../../support/harness/harness.ts";

const LEASE_MS = MS.beat + MS.skew;

/** A run whose process died in its probed call; what follows goes by `part`. */
async function crashed(harness: Harness, part: ScriptedAgentOptions) {
  const keys: string[] = [];
  const probes: string[] = [];
  const agent = scriptedAgent({
    effect: "probed",
    run: ({ key }) => {
      keys.push(key);
      return "ran again";
    },
    ...part,
    probe: (key) => {
      probes.push(key);
      return part.probe?.(key) ?? { kind: "absent" };
    },
  });
  const payload = await beginRun(harness.world, agent, {});
  const leaseUntil = harness.clock.now() + LEASE_MS;
  const key = await dieInTool(harness, { payload, agent });
  return { agent, payload, key, keys, probes, leaseUntil, runner: runnerOf(harness.world, agent) };
}

/** The next owner comes, waits as it should, and goes on at the first moment that it may. */
async function recovered(harness: Harness, part: ScriptedAgentOptions) {
  const run = await crashed(harness, part);
  const waiting = await beatReply(attemptBeat(run.runner, run.payload, 1));
  expect(waiting.route).toBe("wait");
  harness.clock.moveTo(run.leaseUntil + MS.settle);
  const reply = await harness.advanceUntilSettled(drive(run.runner, waiting));
  expect(run.probes).toEqual([run.key]);
  return { ...run, reply };
}

const words = async (harness: Harness, run: string): Promise<string> =>
  JSON.stringify(await transcript(harness.world, run));

describe("after a crash", () => {
  test("schedule 3: the probe waits until the fenced owner is dead and its requests have settled, to the millisecond", async () => {
    const harness = createHarness();
    const { payload, leaseUntil, probes, keys, runner } = await crashed(harness, {});
    const waiting = await beatReply(attemptBeat(runner, payload, 1));
    expect(waiting).toMatchObject({ route: "wait", seconds: Math.ceil((LEASE_MS + MS.settle) / 1_000) });
    expect(harness.row(payload.run)).toMatchObject({ effectsSettleAt: leaseUntil, wakeAt: leaseUntil + MS.settle });
    harness.clock.moveTo(leaseUntil + MS.settle - 1);
    const still = await beatReply(attemptBeat(runner, waiting));
    expect({ route: still.route, probes, keys }).toEqual({ route: "wait", probes: [], keys: [] });
    harness.clock.moveTo(leaseUntil + MS.settle);
    await attemptBeat(runner, still);
    expect({ probes: probes.length, keys: keys.length }).toEqual({ probes: 1, keys: 1 });
  });

  test("a call that happened is reconciled with the service's response, and does not run", async () => {
    const harness = createHarness();
    const { reply, keys } = await recovered(harness, { probe: () => ({ kind: "happened", result: "booked as X7" }) });
    expect(reply.route).toBe("done");
    expect(keys).toEqual([]);
    expect(await ledger(harness.world, reply.run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
    expect(await words(harness, reply.run)).toContain("booked as X7");
  });

  test("a call that did not happen runs with the same key", async () => {
    const harness = createHarness();
    const { reply, key, keys } = await recovered(harness, { probe: () => ({ kind: "absent" }) });
    expect(reply.route).toBe("done");
    expect(keys).toEqual([key]);
    expect(await ledger(harness.world, reply.run)).toMatchObject([{ status: "succeeded", attempts: 2 }]);
  });

  const refuse = (): never => {
    throw new Error("HTTP 502");
  };
  test.each([
    ["cannot tell", () => ({ kind: "unknown" }), "the external service cannot tell"],
    ["throws", refuse, "the probe threw: HTTP 502"],
    ["rejects", async () => refuse(), "the probe threw: HTTP 502"],
    ["hangs", neverSettles, "the probe gave no answer in time"],
  ] as const)("a probe that %s blocks the run and asks an operator", async (_, probe, why) => {
    const harness = createHarness();
    const { reply, keys, leaseUntil } = await recovered(harness, { probe });
    expect(harness.clock.now()).toBeLessThan(leaseUntil + MS.settle + MS.beat);
    expect(reply.route).toBe("park");
    expect(keys).toEqual([]);
    const shown = await show(harness.world, reply.run);
    expect(shown).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
    expect(await ledger(harness.world, reply.run)).toMatchObject([{ status: "unknown", evidence: why }]);
  });

  test("a result that cannot be stored is refused, and the call counts as happened", async () => {
    const harness = createHarness();
    const { reply, keys } = await recovered(harness, { probe: () => ({ kind: "happened", result: 10n }) });
    expect({ route: reply.route, keys }).toEqual({ route: "done", keys: [] });
    expect(await ledger(harness.world, reply.run)).toMatchObject([{ status: "reconciled" }]);
    expect(await words(harness, reply.run)).toContain(
      "ResultRefused: what the probe returned cannot be kept: a bigint",
    );
  });
});

describe("after a timeout", () => {
  /** Stops at its signal, without an answer. */
  const stopping = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));

  test("a call that outlives it ends its process also when the run was lost meanwhile", async () => {
    const harness = createHarness();
    const { promise: inTool, resolve } = Promise.withResolvers<void>();
    const run = (): Promise<never> => {
      resolve();
      return neverSettles();
    };
    const agent = scriptedAgent({ effect: "unsafe", timeoutMs: 400, run });
    const payload = await beginRun(harness.world, agent, {});
    const first = attemptBeat(runnerOf(harness.world, agent), payload);
    await inTool;
    expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1))).toMatchObject({ route: "park" });
    expect(await harness.advanceUntilSettled(first)).toMatchObject({ kind: "exit", reply: { route: "superseded" } });
  });

  test("tries are bounded: each has the same key after a probe that found nothing, then an operator is asked", async () => {
    const harness = createHarness();
    const keys: string[] = [];
    const order: string[] = [];
    const agent = scriptedAgent({
      effect: "probed",
      timeoutMs: 400,
      run: ({ key, signal }) => {
        keys.push(key);
        order.push("run");
        return stopping({ signal });
      },
      probe: () => {
        order.push("probe");
        return { kind: "absent" };
      },
    });
    let reply = await beginRun(harness.world, agent, {}).then((payload) => ({ ...payload, route: "beat" }));
    for (let beats = 0; reply.route !== "park" && beats < 20; beats += 1) {
      harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(reply.run).wakeAt ?? 0));
      reply = await harness.advanceUntilSettled(beatReply(attemptBeat(runnerOf(harness.world, agent), reply)));
    }
    expect(reply.route).toBe("park");
    expect(order).toEqual(["run", "probe", "run", "probe", "run"]);
    expect(keys).toHaveLength(BOUNDS.callTriesMax);
    expect(new Set(keys).size).toBe(1);
    expect(await show(harness.world, reply.run)).toMatchObject({ status: "blocked" });
  });
});

test("the result of a probe is durable before the model gets it", async () => {
  const harness = createHarness();
  const asked: number[] = [];
  const reply: ScriptedAgentOptions["reply"] = ({ calls }) => {
    if (calls.length === 0) return { calls: [{ tool: "act", args: {} }] };
    asked.push(harness.row(payload.run).version);
    return { text: "over" };
  };
  const { payload, runner, leaseUntil } = await crashed(harness, {
    reply,
    probe: () => ({ kind: "happened", result: 1 }),
  });
  const waiting = await beatReply(attemptBeat(runner, payload, 1));
  const { version } = harness.row(payload.run);
  harness.clock.moveTo(leaseUntil + MS.settle);
  await drive(runner, waiting);
  expect(asked).toEqual([version + 1]);
});

test("an agent is refused when a probed tool has no probe, or another tool has one", () => {
  const probe = () => ({ kind: "absent" });
  expect(() => scriptedAgent({ effect: "probed" })).toThrow(AgentInvalid);
  expect(() => scriptedAgent({ effect: "probed" })).toThrow(
    "tool act of agent actor: a probed tool has a probe, and no other",
  );
  for (const effect of ["none", "keyed", "unsafe"] as const)
    expect(() => scriptedAgent({ effect, probe })).toThrow(AgentInvalid);
  expect(scriptedAgent({ effect: "probed", probe }).tools["act"]?.effect).toBe("probed");
});

/** Not a probe, but the same question: it is asked of a person. */
test("schedule 18: a repeated answer does not answer the question that followed it", async () => {
  const harness = createHarness();
  let runs = 0;
  const run = (): never => {
    runs += 1;
    throw new OutcomeUnknown("the answer was lost");
  };
  const runner = runnerOf(harness.world, scriptedAgent({ effect: "unsafe", run }));
  let payload = await beginRun(harness.world, scriptedAgent({ effect: "unsafe", run }), {});
  const blocked = async (): Promise<void> => {
    payload = await drive(runner, payload);
    expect(payload).toMatchObject({ route: "park" });
    harness.clock.moveTo((await show(harness.world, payload.run))?.unknown[0]?.reconcilableFrom ?? 0);
  };
  await blocked();
  const said = { run: payload.run, call: "c1", result: null, by: "ann", note: null };
  const first = { ...said, asked: 1, as: "retry" } as const;
  expect(await reconcile(harness.world, first)).toEqual({ kind: "accepted" });
  await blocked();
  expect(await reconcile(harness.world, first)).toEqual({ kind: "stale", unknown: ["c1"] });
  expect(await reconcile(harness.world, { ...said, asked: 2, as: "succeeded" })).toEqual({ kind: "accepted" });
  expect(await drive(runner, payload)).toMatchObject({ route: "done" });
  expect(runs).toBe(2);
});

describe("a run that is found long after its process died", () => {
  const LATER_MS = 3_600_000;

  test("probes at once, because requests of the dead process have settled since its lease", async () => {
    const harness = createHarness();
    const { payload, leaseUntil, probes, keys, key, runner } = await crashed(harness, {});
    harness.clock.moveTo(leaseUntil + LATER_MS);
    expect(await harness.advanceUntilSettled(attemptBeat(runner, payload, 1))).toMatchObject({
      kind: "beat",
      reply: { route: "beat" },
    });
    expect({ probes, keys }).toEqual({ probes: [key], keys: [key] });
  });

  test("accepts at once that an unsafe call did not happen", async () => {
    const harness = createHarness();
    const agent = scriptedAgent({ effect: "unsafe" });
    const payload = await beginRun(harness.world, agent, {});
    const leaseUntil = harness.clock.now() + LEASE_MS;
    await dieInTool(harness, { payload, agent });
    harness.clock.moveTo(leaseUntil + LATER_MS);
    expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1))).toMatchObject({ route: "park" });
    expect(await show(harness.world, payload.run)).toMatchObject({
      unknown: [{ reconcilableFrom: leaseUntil + MS.settle }],
    });
    const answer = { run: payload.run, call: "c1", as: "failed", result: null, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, answer)).toEqual({ kind: "accepted" });
  });

  test.each([
    ["was given back, so that no lease says when the request left", { owner: null, leaseUntil: null, claims: 0 }],
    ["was handed over after the call was released", { owner: null, leaseUntil: null, epoch: 2 }],
  ])("waits for the lease of this beat when it %s", async (_, to) => {
    const harness = createHarness();
    const { payload, leaseUntil, probes, runner } = await crashed(harness, {});
    harness.clock.moveTo(leaseUntil + LATER_MS);
    harness.world.store.rows.set(payload.run, { ...harness.row(payload.run), ...to });
    expect((await beatReply(attemptBeat(runner, payload, 1))).route).toBe("wait");
    const from = harness.clock.now() + LEASE_MS + MS.settle;
    expect({ wakeAt: harness.row(payload.run).wakeAt, probes }).toEqual({ wakeAt: from, probes: [] });
  });
});
