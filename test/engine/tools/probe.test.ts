/** Probed tools: after a crash or a silence the other side is asked what became of the call, never too early. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../../src/core/limits.ts";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import { OutcomeUnknown } from "../../../src/index.ts";
import { ledger, show, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { BEAT_MS, type Part, SETTLE_MS, SKEW_MS, actor, dieInTool, never } from "../../support/stage.ts";
import { type Stage, passing, replyOf, rowOf, stage } from "../../support/stage.ts";

const LEASE_MS = BEAT_MS + SKEW_MS;

/** A run whose process died in its probed call; what follows goes by `part`. */
async function crashed(on: Stage, part: Part) {
  const keys: string[] = [];
  const probes: string[] = [];
  const agent = actor({
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
  const payload = await begin(on.world, agent, {});
  const leaseUntil = on.clock.now() + LEASE_MS;
  const key = await dieInTool(on, { payload, agent });
  return { agent, payload, key, keys, probes, leaseUntil, runner: runnerOf(on.world, agent) };
}

/** The next owner comes, waits as it should, and goes on at the first moment that it may. */
async function recovered(on: Stage, part: Part) {
  const run = await crashed(on, part);
  const waiting = await replyOf(attempt(run.runner, run.payload, 1));
  expect(waiting.route).toBe("wait");
  on.clock.moveTo(run.leaseUntil + SETTLE_MS);
  const reply = await passing(on, drive(run.runner, waiting));
  expect(run.probes).toEqual([run.key]);
  return { ...run, reply };
}

const words = async (on: Stage, run: string): Promise<string> => JSON.stringify(await transcript(on.world, run));

describe("after a crash", () => {
  test("schedule 3: the probe waits until the overtaken one is dead and what it sent has landed, to the millisecond", async () => {
    const on = stage();
    const { payload, leaseUntil, probes, keys, runner } = await crashed(on, {});
    const waiting = await replyOf(attempt(runner, payload, 1));
    expect(waiting).toMatchObject({ route: "wait", seconds: Math.ceil((LEASE_MS + SETTLE_MS) / 1_000) });
    expect(rowOf(on, payload.run)).toMatchObject({ effectsSettleAt: leaseUntil, wakeAt: leaseUntil + SETTLE_MS });
    on.clock.moveTo(leaseUntil + SETTLE_MS - 1);
    const still = await replyOf(attempt(runner, waiting));
    expect([still.route, probes, keys]).toEqual(["wait", [], []]);
    on.clock.moveTo(leaseUntil + SETTLE_MS);
    await attempt(runner, still);
    expect([probes.length, keys.length]).toEqual([1, 1]);
  });

  test("what happened is reconciled with what the other side says, and does not run", async () => {
    const on = stage();
    const { reply, keys } = await recovered(on, { probe: () => ({ kind: "happened", result: "booked as X7" }) });
    expect(reply.route).toBe("done");
    expect(keys).toEqual([]);
    expect(await ledger(on.world, reply.run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
    expect(await words(on, reply.run)).toContain("booked as X7");
  });

  test("what did not happen runs with the same key", async () => {
    const on = stage();
    const { reply, key, keys } = await recovered(on, { probe: () => ({ kind: "absent" }) });
    expect(reply.route).toBe("done");
    expect(keys).toEqual([key]);
    expect(await ledger(on.world, reply.run)).toMatchObject([{ status: "succeeded", attempts: 2 }]);
  });

  const refuse = (): never => {
    throw new Error("HTTP 502");
  };
  test.each([
    ["cannot tell", () => ({ kind: "unknown" }), "the external service cannot tell"],
    ["throws", refuse, "the probe threw: HTTP 502"],
    ["rejects", async () => refuse(), "the probe threw: HTTP 502"],
    ["hangs", never, "the probe gave no answer in time"],
  ] as const)("a probe that %s blocks the run, and a person is asked", async (_, probe, why) => {
    const on = stage();
    const { reply, keys, leaseUntil } = await recovered(on, { probe });
    expect(on.clock.now()).toBeLessThan(leaseUntil + SETTLE_MS + BEAT_MS);
    expect(reply.route).toBe("park");
    expect(keys).toEqual([]);
    const shown = await show(on.world, reply.run);
    expect(shown).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
    expect(await ledger(on.world, reply.run)).toMatchObject([{ status: "unknown", evidence: why }]);
  });

  test("a result that cannot be kept is refused, and the call happened all the same", async () => {
    const on = stage();
    const { reply, keys } = await recovered(on, { probe: () => ({ kind: "happened", result: 10n }) });
    expect([reply.route, keys]).toEqual(["done", []]);
    expect(await ledger(on.world, reply.run)).toMatchObject([{ status: "reconciled" }]);
    expect(await words(on, reply.run)).toContain("ResultRefused: what the probe returned cannot be kept: a bigint");
  });
});

describe("after a silence", () => {
  /** Stops at its signal, without an answer. */
  const stopping = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));

  test("one that outlives its timeout ends its process also where the run was lost meanwhile", async () => {
    const on = stage();
    const { promise: inTool, resolve } = Promise.withResolvers<void>();
    const run = (): Promise<never> => {
      resolve();
      return never();
    };
    const agent = actor({ effect: "unsafe", timeoutMs: 400, run });
    const payload = await begin(on.world, agent, {});
    const first = attempt(runnerOf(on.world, agent), payload);
    await inTool;
    expect(await replyOf(attempt(runnerOf(on.world, agent), payload, 1))).toMatchObject({ route: "park" });
    expect(await passing(on, first)).toMatchObject({ kind: "exit", reply: { route: "superseded" } });
  });

  test("tries are bounded: each with the same key after a probe that found nothing, then a person is asked", async () => {
    const on = stage();
    const keys: string[] = [];
    const order: string[] = [];
    const agent = actor({
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
    let reply = await begin(on.world, agent, {}).then((payload) => ({ ...payload, route: "beat" }));
    for (let beats = 0; reply.route !== "park" && beats < 20; beats += 1) {
      on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, reply.run).wakeAt ?? 0));
      reply = await passing(on, replyOf(attempt(runnerOf(on.world, agent), reply)));
    }
    expect(reply.route).toBe("park");
    expect(order).toEqual(["run", "probe", "run", "probe", "run"]);
    expect(keys).toHaveLength(BOUNDS.callTriesMax);
    expect(new Set(keys).size).toBe(1);
    expect(await show(on.world, reply.run)).toMatchObject({ status: "blocked" });
  });
});

test("what a probe found is durable before the model hears of it", async () => {
  const on = stage();
  const asked: number[] = [];
  const reply: Part["reply"] = ({ calls }) => {
    if (calls.length === 0) return { calls: [{ tool: "act", args: {} }] };
    asked.push(rowOf(on, payload.run).version);
    return { text: "over" };
  };
  const { payload, runner, leaseUntil } = await crashed(on, { reply, probe: () => ({ kind: "happened", result: 1 }) });
  const waiting = await replyOf(attempt(runner, payload, 1));
  const { version } = rowOf(on, payload.run);
  on.clock.moveTo(leaseUntil + SETTLE_MS);
  await drive(runner, waiting);
  expect(asked).toEqual([version + 1]);
});

test("an agent whose probed tool has no probe is refused, and one whose other tool has one", () => {
  const probe = () => ({ kind: "absent" });
  expect(() => actor({ effect: "probed" })).toThrow(AgentInvalid);
  expect(() => actor({ effect: "probed" })).toThrow("tool act of agent actor: a probed tool has a probe, and no other");
  for (const effect of ["none", "keyed", "unsafe"] as const)
    expect(() => actor({ effect, probe })).toThrow(AgentInvalid);
  expect(actor({ effect: "probed", probe }).tools["act"]?.effect).toBe("probed");
});

/** Not a probe, but the same question: it is asked of a person. */
test("schedule 18: an answer that is sent again does not answer the question that came of it", async () => {
  const on = stage();
  let runs = 0;
  const run = (): never => {
    runs += 1;
    throw new OutcomeUnknown("the answer was lost");
  };
  const runner = runnerOf(on.world, actor({ effect: "unsafe", run }));
  let payload = await begin(on.world, actor({ effect: "unsafe", run }), {});
  const blocked = async (): Promise<void> => {
    payload = await drive(runner, payload);
    expect(payload).toMatchObject({ route: "park" });
    on.clock.moveTo((await show(on.world, payload.run))?.unknown[0]?.askFrom ?? 0);
  };
  await blocked();
  const said = { run: payload.run, call: "c1", result: null, by: "ann", note: null };
  const first = { ...said, asked: 1, as: "retry" } as const;
  expect(await reconcile(on.world, first)).toEqual({ kind: "accepted" });
  await blocked();
  expect(await reconcile(on.world, first)).toEqual({ kind: "stale", unknown: ["c1"] });
  expect(await reconcile(on.world, { ...said, asked: 2, as: "succeeded" })).toEqual({ kind: "accepted" });
  expect(await drive(runner, payload)).toMatchObject({ route: "done" });
  expect(runs).toBe(2);
});

describe("a run that is found long after its process died", () => {
  const LATER_MS = 3_600_000;

  test("probes at once: what the dead process sent has landed since its lease", async () => {
    const on = stage();
    const { payload, leaseUntil, probes, keys, key, runner } = await crashed(on, {});
    on.clock.moveTo(leaseUntil + LATER_MS);
    expect(await passing(on, attempt(runner, payload, 1))).toMatchObject({ kind: "beat", reply: { route: "beat" } });
    expect([probes, keys]).toEqual([[key], [key]]);
  });

  test("takes at once that an unsafe call did not happen", async () => {
    const on = stage();
    const agent = actor({ effect: "unsafe" });
    const payload = await begin(on.world, agent, {});
    const leaseUntil = on.clock.now() + LEASE_MS;
    await dieInTool(on, { payload, agent });
    on.clock.moveTo(leaseUntil + LATER_MS);
    expect(await replyOf(attempt(runnerOf(on.world, agent), payload, 1))).toMatchObject({ route: "park" });
    expect(await show(on.world, payload.run)).toMatchObject({ unknown: [{ askFrom: leaseUntil + SETTLE_MS }] });
    const answer = { run: payload.run, call: "c1", as: "failed", result: null, by: "ann", note: null } as const;
    expect(await reconcile(on.world, answer)).toEqual({ kind: "accepted" });
  });

  test.each([
    ["was given back, so that no lease says when the request left", { owner: null, leaseUntil: null, claims: 0 }],
    ["was handed over after the call was released", { owner: null, leaseUntil: null, epoch: 2 }],
  ])("waits from now on where it %s", async (_, to) => {
    const on = stage();
    const { payload, leaseUntil, probes, runner } = await crashed(on, {});
    on.clock.moveTo(leaseUntil + LATER_MS);
    on.world.store.rows.set(payload.run, { ...rowOf(on, payload.run), ...to });
    expect((await replyOf(attempt(runner, payload, 1))).route).toBe("wait");
    const from = on.clock.now() + SKEW_MS + SETTLE_MS;
    expect([rowOf(on, payload.run).wakeAt, probes]).toEqual([from, []]);
  });
});
