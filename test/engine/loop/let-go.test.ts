/** A run that is given back since a store does not answer: what of it stays counted, and how long it is left alone. */
import { describe, expect, test } from "vitest";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import type { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { absorbInbox } from "../../../src/engine/context/inbox.ts";
import { releaseRun } from "../../../src/engine/loop/release.ts";
import { send } from "../../../src/operations/steer.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { attemptDuringOutage, delayCommit } from "../../support/faults/store-outages.ts";
import { type Harness, scriptedAgent, createChainHarness } from "../../support/harness/harness.ts";
import { claimAndLoad } from "../../support/harness/chain-steps.ts";

const UNREACHABLE = new StoreUnreachable("the objects do not answer", { store: "the objects" });

/** In the hands of an invocation that may call its model. */
async function taken(harness: Harness): Promise<ActiveRun> {
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent);
  const { born, chain, epoch } = harness.row(run);
  return claimAndLoad(harness, { payload: { run, born, chain, epoch, agent: agent.name }, retry: 0, restart: 1 });
}

describe("a model call", () => {
  test("that was sent stays counted until an invocation debits it", async () => {
    const harness = createChainHarness();
    const run = await taken(harness);
    expect({ unaccountedModelCalls: run.row.unaccountedModelCalls, pendingCall: run.pending.modelCalls.own }).toEqual({
      unaccountedModelCalls: 1,
      pendingCall: "marked",
    });
    run.pending.modelCallLeaves();
    expect(await releaseRun(run, UNREACHABLE)).toMatchObject({ owner: null, unaccountedModelCalls: 1 });
  });

  test("that was not sent is not counted", async () => {
    const harness = createChainHarness();
    expect(await releaseRun(await taken(harness), UNREACHABLE)).toMatchObject({
      owner: null,
      unaccountedModelCalls: 0,
    });
  });
});

test("a message is unread again when the changes that absorbed it are dropped", async () => {
  const harness = createChainHarness();
  const run = await taken(harness);
  await send(harness.world, { run: run.row.run, text: "one more thing", by: "ann", id: "m1" });
  await run.commitPending();
  const read = await takenIn(run);
  expect(read).toBe(1);
  const tokensIn = run.row.spent.tokensIn + 5;
  run.record({ kind: "BudgetDebited", at: harness.clock.now(), debit: { tokensIn: 5 }, for: "scripted" });
  run.mark();
  expect(await releaseRun(run, UNREACHABLE)).toMatchObject({
    owner: null,
    wakeCount: 1,
    wakeCountSeen: 0,
    spent: { tokensIn },
  });
});

async function takenIn(run: ActiveRun): Promise<number> {
  await absorbInbox(run);
  return run.pending.events.filter(({ kind }) => kind === "MessageAbsorbed").length;
}

test("a run that another invocation has claimed stays with it, whichever invocation made its last commit", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ effect: "unsafe" });
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  const { world } = delayCommit(harness.world, {
    when: ({ release }) => !release,
    meanwhile: async (land) => {
      await land();
      await claimAndLoad(harness, { payload, retry: 1_000, restart: 1 });
    },
  });
  expect(await attemptDuringOutage(harness, agent, world)).toMatchObject({
    kind: "beat",
    reply: { route: "superseded" },
  });
  expect(harness.row(run)).toMatchObject({ owner: "test 1000", storeOutage: null });
});

describe("the pause of a store outage", () => {
  const waitAfter = async (awayMs: number): Promise<number> => {
    const harness = createChainHarness();
    const run = await taken(harness);
    const since = harness.clock.now() - awayMs;
    Object.assign(run.row, { storeOutage: { store: UNREACHABLE.store, since } });
    const { wakeAt, storeOutage } = await releaseRun(run, UNREACHABLE);
    expect(storeOutage).toEqual({ store: UNREACHABLE.store, since });
    return (wakeAt ?? 0) - harness.clock.now();
  };

  test.each([
    [0, 2_000],
    [60_000, 30_000],
    [6 * 3_600_000, 300_000],
  ])("after %i ms grows with jitter, up to five minutes", async (awayMs, mostMs) => {
    const waited = await waitAfter(awayMs);
    expect(waited).toBeGreaterThanOrEqual(mostMs / 2);
    expect(waited).toBeLessThanOrEqual(mostMs);
  });
});
