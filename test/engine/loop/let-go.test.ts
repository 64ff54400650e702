/** A run that is given back since a store does not answer: what of it stays counted, and how long it is left alone. */
import { describe, expect, test } from "vitest";
import { StoreUnreachable } from "../../../src/ports/world.ts";
import type { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { absorbInbox } from "../../../src/engine/context/inbox.ts";
import { releaseRun } from "../../../src/engine/loop/release.ts";
import { send } from "../../../src/operations/steer.ts";
import { begin } from "../../support/drive.ts";
import { struggle, underWay } from "../../support/outages.ts";
import { type Stage, actor, chainedStage, rowOf } from "../../support/stage.ts";
import { step, takeUp } from "../../support/steps.ts";

const AWAY = new StoreUnreachable("the objects do not answer", { store: "the objects" });

/** In the hands of an invocation that may call its model. */
async function taken(on: Stage): Promise<ActiveRun> {
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  await step(on, agent);
  const { born, chain, epoch } = rowOf(on, run);
  return takeUp(on, { payload: { run, born, chain, epoch, agent: agent.name }, retry: 0, attempt: 1 });
}

describe("a model call", () => {
  test("that left stays counted until somebody debits it", async () => {
    const on = chainedStage();
    const run = await taken(on);
    expect([run.row.asks, run.pending.modelCalls.own]).toEqual([1, "marked"]);
    run.pending.modelCallLeaves();
    expect(await releaseRun(run, AWAY)).toMatchObject({ owner: null, asks: 1 });
  });

  test("that could have left and did not is not counted", async () => {
    const on = chainedStage();
    expect(await releaseRun(await taken(on), AWAY)).toMatchObject({ owner: null, asks: 0 });
  });
});

test("a message that was taken in with what is dropped is unread again", async () => {
  const on = chainedStage();
  const run = await taken(on);
  await send(on.world, { run: run.row.run, text: "one more thing", by: "ann", id: "m1" });
  await run.commitPending();
  const read = await takenIn(run);
  expect(read).toBe(1);
  const tokensIn = run.row.spent.tokensIn + 5;
  run.record({ kind: "BudgetDebited", at: on.clock.now(), debit: { tokensIn: 5 }, for: "scripted" });
  run.mark();
  expect(await releaseRun(run, AWAY)).toMatchObject({
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

test("a run that another invocation has claimed since stays with it, whoever made its last commit", async () => {
  const on = chainedStage();
  const agent = actor({ effect: "unsafe" });
  const payload = await begin(on.world, agent, {});
  const { run } = payload;
  const { world } = underWay(on.world, {
    when: ({ release }) => !release,
    meanwhile: async (land) => {
      await land();
      await takeUp(on, { payload, retry: 1_000, attempt: 1 });
    },
  });
  expect(await struggle(on, agent, world)).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
  expect(rowOf(on, run)).toMatchObject({ owner: "test 1000", storeOutage: null });
});

describe("the longer a store has been away", () => {
  const waitAfter = async (awayMs: number): Promise<number> => {
    const on = chainedStage();
    const run = await taken(on);
    const since = on.clock.now() - awayMs;
    Object.assign(run.row, { storeOutage: { store: AWAY.store, since } });
    const { wakeAt, storeOutage } = await releaseRun(run, AWAY);
    expect(storeOutage).toEqual({ store: AWAY.store, since });
    return (wakeAt ?? 0) - on.clock.now();
  };

  test.each([
    [0, 2_000],
    [60_000, 30_000],
    [6 * 3_600_000, 300_000],
  ])("%i ms: the longer the run waits, with jitter, and five minutes at most", async (awayMs, mostMs) => {
    const waited = await waitAfter(awayMs);
    expect(waited).toBeGreaterThanOrEqual(mostMs / 2);
    expect(waited).toBeLessThanOrEqual(mostMs);
  });
});
