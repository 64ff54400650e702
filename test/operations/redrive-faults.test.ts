/** Redrives under faults: zombies, senders and invocations that die at any call, and answers that are lost. */
import { expect, test } from "vitest";
import { scriptedModel } from "../../src/index.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { type CrashLoopRun, createCrashLoopRun } from "../support/runs/crash-loop-run.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  performTask,
  flushPromises,
  MS,
} from "../support/harness/harness.ts";
import { crashAfterCall, wrapTableCall, sweep } from "../support/harness/chain-steps.ts";

const ADA = { by: "ada", why: "more memory" } as const;

const redrivesIn = async ({ harness, run }: CrashLoopRun): Promise<readonly string[]> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RunRedriven" ? [`${event.by}: ${event.why}`] : [],
  );

test("a zombie of an epoch before a redrive is fenced, and its execution starts no other", async () => {
  const it = await createCrashLoopRun();
  const { harness, run } = it;
  const before = it.row();
  await redrive(harness.world, { run, ...ADA });
  const { world, clock } = harness;
  const now = clock.now();
  const { born, version, snapshot, spent } = before;
  const commit = {
    ...{ run, born, now, epoch: before.epoch, version, commitId: "zombie", agentVersion: "1", journal: null, snapshot },
    ...({
      spent,
      status: "failed",
      phase: "Failed",
      wakeCountSeen: 0,
      wakeAt: null,
      deadline: now,
      unaccountedModelCalls: 0,
      marksAtClaim: 0,
    } as const),
    ...{ release: true, raiseEffectsSettleAt: false, nextChain: false, expiresAtSec: null, unlessWoken: false },
    ...{ isProgress: false, storeOutage: null, lastCheckpointAt: now },
  };
  expect(await world.table.decide(commit, COMMIT)).toMatchObject({ kind: "fenced" });
  const entry = { execution: executionName(run, born, 1), epoch: before.epoch, retry: 7 };
  const claim = { run, born, chain: 1, entry, owner: "zombie", leaseUntil: now + 1_000, now };
  expect(await world.table.decide(claim, CLAIM)).toMatchObject({ kind: "superseded" });
  // An old attempt finds its successor, and starts it at most once.
  const stray = {
    kind: "beat",
    payload: { run, born, chain: 1, epoch: before.epoch, agent: before.agent },
    attempt: entry,
  } as const;
  expect(await performTask(stray, { world, agent: it.agent })).toMatchObject({ reply: { route: "renew", chain: 2 } });
  await harness.runForTime(it.agent, MS.hour);
  expect({ status: it.row().status, called: it.called }).toEqual({ status: "completed", called: [it.key] });
});

test("a sender dies at any of its calls: the run is redriven once or not at all, and continues without it", async () => {
  const seen = new Set<string>();
  const crashes = await forEachCrashPoint(async (crash) => {
    const it = await createCrashLoopRun();
    const { harness, run } = it;
    const sender = crashAtCall(harness.world, crash);
    const survives = await sender.survives((world) => redrive(world, { run, ...ADA }));
    const isRedriven = it.row().status === "running";
    seen.add(isRedriven ? "redriven" : "failed");
    expect(survives ? isRedriven : true).toBe(true);
    harness.clock.moveTo(harness.clock.now() + 2 * MS.minute);
    await harness.advanceUntilSettled(sweep(harness.world));
    await harness.runForTime(it.agent, MS.hour);
    expect(it.row().status).toBe(isRedriven ? "completed" : "failed");
    expect(it.called).toEqual(isRedriven ? [it.key] : []);
    expect(await redrivesIn(it)).toEqual(isRedriven ? ["ada: more memory"] : []);
    expect(await show(harness.world, run)).toMatchObject({ failure: isRedriven ? null : { code: "CrashLoop" } });
    return survives;
  });
  expect(crashes).toBeGreaterThanOrEqual(8);
  expect(seen).toEqual(new Set(["redriven", "failed"]));
});

test("the first invocation of a redriven run dies at any of its calls: the redrive is recorded once, with its operator", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const it = await createCrashLoopRun();
    const { harness, run } = it;
    await redrive(harness.world, { run, ...ADA });
    const first = crashAtCall(harness.world, crash);
    const out = harness.startAttempt();
    const survives = await harness.advanceUntilSettled(
      first.survives((world) => out.perform({ world, agent: it.agent }).then((result) => out.end(result))),
    );
    if (!survives) out.end(null);
    await harness.runForTime(it.agent, MS.hour);
    expect({ status: it.row().status, redrives: await redrivesIn(it) }).toEqual({
      status: "completed",
      redrives: ["ada: more memory"],
    });
    expect(new Set(it.called)).toEqual(new Set([it.key]));
    expect("redrive" in it.row()).toBe(false);
    return survives;
  });
  expect(crashes).toBeGreaterThanOrEqual(10);
});

test("a sender that died before it started the run starts it on its next try, without a sweeper", async () => {
  const it = await createCrashLoopRun();
  const { harness, run } = it;
  const dead = redrive(crashAfterCall(harness.world, "redrive"), { run, ...ADA });
  dead.catch(() => undefined);
  await flushPromises();
  expect(it.row()).toMatchObject({ status: "running", redrive: { by: "ada" } });
  expect(await redrive(harness.world, { run, ...ADA })).toMatchObject({ kind: "Late" });
  await harness.runForTime(it.agent, MS.hour);
  expect({ status: it.row().status, called: it.called, redrives: await redrivesIn(it) }).toEqual({
    status: "completed",
    called: [it.key],
    redrives: ["ada: more memory"],
  });
});

test("a redrive with a lost response is recognised as its own, although the run has continued since", async () => {
  const it = await createCrashLoopRun();
  const { harness, run } = it;
  let copies = 0;
  const losing = wrapTableCall(harness.world, "redrive", (call) => async (asked) => {
    copies += 1;
    if (copies > 1) return call(asked);
    await call(asked);
    // Whoever drives it has found it already.
    const { born, chain, epoch, agent } = it.row();
    await harness.world.chain.start(executionName(run, born, chain), { run, born, chain, epoch, agent });
    await harness.runForTime(it.agent, 1_000);
    return { kind: "ambiguous", why: "no answer" };
  });
  expect(await redrive(losing, { run, ...ADA })).toMatchObject({ kind: "redriven", row: { status: "completed" } });
  expect({ copies, called: it.called }).toEqual({ copies: 2, called: [it.key] });
});

test("a process that dies during a model call of a redriven run leaves a call that is debited", async () => {
  const harness = createChainHarness();
  let isAway = true;
  const agent = {
    ...scriptedAgent({
      reply: (conversation) => {
        if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
        return callsThenFinal(1)(conversation);
      },
    }),
    outageMaxMs: MS.minute,
  };
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runForTime(agent, MS.hour);
  expect(harness.row(run).status).toBe("failed");
  isAway = false;
  await redrive(harness.world, { run, ...ADA });
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt({ ...agent, model: scriptedModel({ name: "silent", reply: neverSettles }) }, world);
  kill();
  await harness.runForTime(agent, MS.hour);
  expect(harness.row(run).status).toBe("completed");
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
});
