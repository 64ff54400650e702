/** A supervisor and runs whose time is over, with real processes: everything of them goes, whatever dies meanwhile. */
import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/adapters/local/clock.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { drivenStore } from "../../../src/adapters/local/store/driven-store.ts";
import { isAlive } from "../../../src/adapters/local/process-identity.ts";
import { sqliteRunTable } from "../../../src/adapters/local/store/run-table.ts";
import { startSupervisor } from "../../../src/workers/supervisor.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import type { Clock, World } from "../../../src/ports/world.ts";
import { show } from "../../../src/operations/views.ts";
import { send } from "../../../src/operations/steer.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal } from "../../support/harness/harness.ts";
import {
  eventsOf,
  identify,
  createSupervisorHarness,
  startSupervisorProcess,
  waitUntil,
} from "../../process/fixtures/supervisor-harness.ts";
import { BORN, NOW, RUN, claim, commit, creation, temporaryStore } from "../../process/fixtures/store.ts";
import { ENDED, row } from "../../process/fixtures/table.ts";

const HOUR_MS = 3_600_000;

/** This machine's clock, so much later. */
function later(byMs: () => number): Clock {
  const now = (): number => systemClock.now() + byMs();
  return { ...systemClock, now, earliest: now };
}

const ahead = (hours: number): Clock => later(() => hours * HOUR_MS);

const fileBytes = ({ dir }: Store): number => statSync(join(dir, "cairn.sqlite")).size;

/** How many rows of each table name that run. */
function rowsOf(store: Store, run: string) {
  const countIn = (table: string, where: string): number =>
    Number(store.rows.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${where}`).get(`%${run}%`)?.["n"]);
  return {
    runs: countIn("runs", "run LIKE ?"),
    objects: countIn("objects", "key LIKE ?"),
    inbox: countIn("inbox", "run LIKE ?"),
    seen: countIn("seen", "run LIKE ?"),
    executions: countIn("executions", "name LIKE ?"),
    removed: countIn("removed", "run LIKE ?"),
  };
}

const NOTHING = { runs: 0, objects: 0, inbox: 0, seen: 0, executions: 0, removed: 0 };

/** A run whose calls return that many megabytes in all, which nothing can compress. */
async function talkative(world: World, megabytes: number): Promise<string> {
  const agent = scriptedAgent({
    reply: callsThenFinal(megabytes),
    run: () => randomBytes((1024 * 1024 * 3) / 4).toString("base64"),
  });
  const payload = await beginRun(world, agent, {});
  await send(world, { run: payload.run, text: "hello", by: "ann", id: "w1" });
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  return payload.run;
}

describe("a run whose retention expired", () => {
  it("is removed with its items, objects and executions at a poll of the supervisor, and the file shrinks", async () => {
    const store = temporaryStore();
    const telemetry = { record: () => undefined };
    const kept = withKernel(
      localWorld({
        store,
        limits: limitsFor(LIMITS.longBeatMs, { retentionMs: 1_000 * HOUR_MS }),
        telemetry,
      }),
    );
    const limits = limitsFor(LIMITS.longBeatMs);
    const [big, small] = [
      await talkative(withKernel(localWorld({ store, limits, telemetry })), 8),
      await talkative(kept, 1),
    ];
    store.rows.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const [before, full] = [rowsOf(store, small), fileBytes(store)];
    expect(rowsOf(store, big)).toMatchObject({ runs: 1, seen: 1, executions: 1, removed: 0 });
    const supervisor = startSupervisor({
      ...{ store: drivenStore(store), limits, clock: ahead(25), onEvent: () => undefined },
      worker: {
        module: new URL("../../../src/compose/workers/worker.ts", import.meta.url),
        args: [JSON.stringify({ dir: store.dir, limits, agentFiles: [] })],
        ...{ execArgv: [], env: {} },
      },
    });
    onTestFinished(() => supervisor.drain());
    await waitUntil("nothing of it is left", () => JSON.stringify(rowsOf(store, big)) === JSON.stringify(NOTHING));
    await waitUntil("the file is smaller", () => fileBytes(store) < full / 2);
    expect(rowsOf(store, small)).toEqual(before);
    expect(await show(kept, small)).toMatchObject({ status: "completed", result: "over" });
  });
});

/** A row whose time was over long ago. */
async function expired(store: Store): Promise<void> {
  const table = sqliteRunTable(store);
  await table.create(creation());
  const granted = row(await table.decide(claim(), CLAIM), "granted");
  row(await table.decide(commit(granted, ENDED), COMMIT), "committed");
  row(
    await table.decide({ run: RUN, born: BORN, now: NOW, expiresAtSec: NOW / 1_000 + 60 }, END_NOTIFICATION),
    "notified",
  );
}

describe("a clean-up that fails", () => {
  it("is reported, retried after a pause, and completed in the end", async () => {
    const of = createSupervisorHarness();
    await expired(of.store);
    let aheadMs = 0;
    const clock = later(() => aheadMs);
    const begunAt = clock.now();
    of.supervise({ clock });
    await waitUntil("it failed", () => eventsOf(of.events, "upkeepFailed", RUN).length > 0);
    expect(eventsOf(of.events, "upkeepFailed")[0]).toMatchObject({
      ...{ task: "cleanUp", run: RUN, how: "the task threw" },
      error: { message: "the bucket does not answer" },
    });
    const dueAt = (): number => Number(of.store.rows.prepare("SELECT dueAt FROM removed").get()?.["dueAt"] ?? 0);
    await waitUntil("it is put off", () => dueAt() > begunAt);
    expect(rowsOf(of.store, RUN)).toMatchObject({ runs: 0, removed: 1 });
    of.go();
    aheadMs = 61_000;
    await waitUntil("it is done", () => eventsOf(of.events, "upkeepDone", RUN).length === 1);
    await waitUntil("its entry is gone", () => rowsOf(of.store, RUN).removed === 0);
    expect(eventsOf(of.events, "upkeepFailed")).toHaveLength(1);
  });

  it("is not lost when the supervisor is killed", async () => {
    const of = createSupervisorHarness();
    await expired(of.store);
    const child = await startSupervisorProcess(of);
    await waitUntil("it failed", () => eventsOf(of.events, "upkeepFailed", RUN).length > 0);
    const dead = identify(child.pid);
    child.kill("SIGKILL");
    await waitUntil("the supervisor is gone", () => !isAlive(dead));
    expect(rowsOf(of.store, RUN)).toMatchObject({ runs: 0, removed: 1 });
    of.go();
    of.supervise({ clock: ahead(1) });
    await waitUntil("its entry is gone", () => rowsOf(of.store, RUN).removed === 0);
  });
});

describe("the search for orphans", () => {
  const planOf = ({ rows }: Store) =>
    JSON.parse(String(rows.prepare("SELECT value FROM meta WHERE name = 'orphans'").get()?.["value"] ?? "null")) as {
      readonly dueAt: number;
      readonly after: string | null;
    } | null;

  it("waits for a day in a fresh store, and continues from its cursor after a death", async () => {
    const of = createSupervisorHarness();
    const first = of.supervise();
    await waitUntil("it is planned", () => planOf(of.store) !== null);
    expect(planOf(of.store)?.dueAt).toBeGreaterThan(systemClock.now() + 23 * HOUR_MS);
    await first.drain();
    expect(eventsOf(of.events, "upkeepDone")).toEqual([]);

    const begun = systemClock.now() + 25 * HOUR_MS;
    const second = of.supervise({ clock: ahead(25) });
    await waitUntil("its second call died", () => eventsOf(of.events, "upkeepFailed").length > 0);
    await waitUntil("that is stored", () => (planOf(of.store)?.dueAt ?? 0) > begun);
    await second.drain();
    expect(planOf(of.store)?.after).toBe("1");

    of.supervise({ clock: ahead(26) });
    await waitUntil("it is through", () => planOf(of.store)?.after === null);
    expect(eventsOf(of.events, "upkeepDone").map(({ task }) => task)).toEqual(["orphans", "orphans", "orphans"]);
    expect(planOf(of.store)?.dueAt).toBeGreaterThan(begun + 24 * HOUR_MS);
  });
});
