/** Redrives under faults: zombies, senders and invocations that die at any call, and answers that are lost. */
import { expect, test } from "vitest";
import { scriptedModel } from "../../src/index.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { type Crashed, crashed } from "../support/crashed.ts";
import { dying, everyCrash } from "../support/crashing.ts";
import { begin, mortal } from "../support/drive.ts";
import { HOUR, MINUTE, playFor } from "../support/passing-time.ts";
import { actor, callsThenOver, chainedStage, never, passing, rowOf } from "../support/stage.ts";
import { dyingAfter, hear, leave, lose, meeting, perform, rest, sweep } from "../support/steps.ts";

const ADA = { by: "ada", why: "more memory" } as const;

const redrivesIn = async ({ on, run }: Crashed): Promise<readonly string[]> =>
  ((await timeline(on.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RunRedriven" ? [`${event.by}: ${event.why}`] : [],
  );

test("a zombie of an epoch before a redrive is fenced, and its execution starts nothing else", async () => {
  const it = await crashed();
  const { on, run } = it;
  const before = it.row();
  await redrive(on.world, { run, ...ADA });
  const { world, clock } = on;
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
      asks: 0,
      will: 0,
    } as const),
    ...{ release: true, raiseEffectsSettleAt: false, nextChain: false, expiresAtSec: null, unlessWoken: false },
    ...{ isProgress: false, storeOutage: null, lastCheckpointAt: now },
  };
  expect(await world.table.commit(commit)).toMatchObject({ kind: "fenced" });
  const entry = { execution: executionName(run, born, 1), epoch: before.epoch, retry: 7 };
  const claim = { run, born, chain: 1, entry, owner: "zombie", leaseUntil: now + 1_000, now };
  expect(await world.table.claim(claim)).toMatchObject({ kind: "superseded" });
  // An old attempt finds its successor, and starts it at most once.
  const stray = {
    kind: "beat",
    payload: { run, born, chain: 1, epoch: before.epoch, agent: before.agent },
    attempt: entry,
  } as const;
  expect(await perform(stray, { world, agent: it.agent })).toMatchObject({ reply: { route: "renew", chain: 2 } });
  await playFor(on, it.agent, HOUR);
  expect([it.row().status, it.called]).toEqual(["completed", [it.key]]);
});

test("a sender dies at any of its calls: the run is redriven once or not at all, and goes on without that sender", async () => {
  const seen = new Set<string>();
  const crashes = await everyCrash(async (crash) => {
    const it = await crashed();
    const { on, run } = it;
    const sender = dying(on.world, crash);
    const survives = await sender.survives((world) => redrive(world, { run, ...ADA }));
    const isRedriven = it.row().status === "running";
    seen.add(isRedriven ? "redriven" : "failed");
    expect(survives ? isRedriven : true).toBe(true);
    on.clock.moveTo(on.clock.now() + 2 * MINUTE);
    await passing(on, sweep(on.world));
    await playFor(on, it.agent, HOUR);
    expect(it.row().status).toBe(isRedriven ? "completed" : "failed");
    expect(it.called).toEqual(isRedriven ? [it.key] : []);
    expect(await redrivesIn(it)).toEqual(isRedriven ? ["ada: more memory"] : []);
    expect(await show(on.world, run)).toMatchObject({ failure: isRedriven ? null : { code: "CrashLoop" } });
    return survives;
  });
  expect(crashes).toBeGreaterThanOrEqual(8);
  expect(seen).toEqual(new Set(["redriven", "failed"]));
});

test("the first invocation of a redriven run dies at any of its calls: the redrive is recorded once, with its name", async () => {
  const crashes = await everyCrash(async (crash) => {
    const it = await crashed();
    const { on, run } = it;
    await redrive(on.world, { run, ...ADA });
    const first = dying(on.world, crash);
    const out = leave(on);
    const survives = await passing(
      on,
      first.survives((world) => perform(out.task, { world, agent: it.agent }).then((result) => hear(on, out, result))),
    );
    if (!survives) hear(on, out, null);
    await playFor(on, it.agent, HOUR);
    expect([it.row().status, await redrivesIn(it)]).toEqual(["completed", ["ada: more memory"]]);
    expect(new Set(it.called)).toEqual(new Set([it.key]));
    expect("redrive" in it.row()).toBe(false);
    return survives;
  });
  expect(crashes).toBeGreaterThanOrEqual(10);
});

test("a sender that died before it started the run starts it when it comes again, without a sweeper", async () => {
  const it = await crashed();
  const { on, run } = it;
  const dead = redrive(dyingAfter(on.world, "redrive"), { run, ...ADA });
  dead.catch(() => undefined);
  await rest();
  expect(it.row()).toMatchObject({ status: "running", redrive: { by: "ada" } });
  expect(await redrive(on.world, { run, ...ADA })).toMatchObject({ kind: "Late" });
  await playFor(on, it.agent, HOUR);
  expect([it.row().status, it.called, await redrivesIn(it)]).toEqual(["completed", [it.key], ["ada: more memory"]]);
});

test("a redrive whose answer is lost is known for its own, although the run has been at work since", async () => {
  const it = await crashed();
  const { on, run } = it;
  let copies = 0;
  const losing = meeting(on.world, "redrive", (call) => async (asked) => {
    copies += 1;
    if (copies > 1) return call(asked);
    await call(asked);
    // Whoever drives it has found it already.
    const { born, chain, epoch, agent } = it.row();
    await on.world.chain.start(executionName(run, born, chain), { run, born, chain, epoch, agent });
    await playFor(on, it.agent, 1_000);
    return { kind: "ambiguous", why: "no answer" };
  });
  expect(await redrive(losing, { run, ...ADA })).toMatchObject({ kind: "redriven", row: { status: "completed" } });
  expect([copies, it.called]).toEqual([2, [it.key]]);
});

test("a process that dies while it asks the model of a redriven run leaves a call that is debited", async () => {
  const on = chainedStage();
  let isAway = true;
  const agent = {
    ...actor({
      reply: (conversation) => {
        if (isAway) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
        return callsThenOver(1)(conversation);
      },
    }),
    outageMaxMs: MINUTE,
  };
  const { run } = await begin(on.world, agent, {});
  await playFor(on, agent, HOUR);
  expect(rowOf(on, run).status).toBe("failed");
  isAway = false;
  await redrive(on.world, { run, ...ADA });
  const { world, kill } = mortal(on.world);
  await lose(on, { ...agent, model: scriptedModel({ name: "silent", reply: never }) }, world);
  kill();
  await playFor(on, agent, HOUR);
  expect(rowOf(on, run).status).toBe("completed");
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
});
