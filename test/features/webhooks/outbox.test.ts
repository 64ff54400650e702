/** Entries of the outbox: which commits have one, and what becomes of one whose commit never came. */
import { expect, test } from "vitest";
import type { World } from "../../../src/ports/world.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { scriptedAgent, MS, createSupervisedHarness } from "../../support/harness/harness.ts";
import { outboxOf, toldBy, withReceiver } from "../../support/runs/webhook-receiver.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { withCalls } from "../../../src/testing/decisions.ts";

/** Longer than the lease of a dead process. */
const LEASE_MS = MS.beat + MS.skew + 1;

test("what a dead process was about to commit, and another one decided otherwise, is told to no one", async () => {
  const { harness, received } = withReceiver(createSupervisedHarness());
  const agent = scriptedAgent({ reply: () => ({ text: "over" }) });
  const payload = await beginRun(harness.world, agent, {});
  // Its first commit would end the run. It dies after the entry of the outbox, and before the commit.
  const commits: string[] = [];
  const world: World = {
    ...harness.world,
    table: withCalls(harness.world.table, {
      commit: (of) => {
        commits.push(of.status);
        return of.status === "completed" ? new Promise(() => undefined) : harness.world.table.decide(of, COMMIT);
      },
    }),
  };
  const out = harness.startAttempt();
  void out.perform({ world, agent });
  for (let turn = 0; !commits.includes("completed") && turn < 100; turn += 1)
    await new Promise((resolve) => setImmediate(resolve));
  expect(await outboxOf(harness)).toHaveLength(1);
  // The commit may still come, so the entry waits.
  await harness.sweep();
  expect(await outboxOf(harness)).toHaveLength(1);
  await harness.world.table.request({ ...payload, now: harness.clock.now(), want: "cancel" });
  out.end(null);
  harness.passTime(LEASE_MS);
  const row = await harness.driveUntil({ agent, run: payload.run, until: ({ endNotified }) => endNotified });
  await harness.sweep();
  expect(row.status).toBe("cancelled");
  expect(toldBy(received).map(({ type }) => type)).toEqual(["run.cancelled"]);
  expect(await outboxOf(harness)).toEqual([]);
});

test("a commit that no endpoint wants to hear of stores nothing", async () => {
  const { harness } = withReceiver(createSupervisedHarness(), [
    { url: "https://hooks.example/", events: ["run.failed"], secret: "HOOK_KEY" },
    { url: "https://hooks.example/other", events: ["run.completed"], agents: ["other"], secret: "HOOK_KEY" },
  ]);
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ status }) => status === "completed" });
  expect(await outboxOf(harness)).toEqual([]);
  expect(harness.row(run).status).toBe("completed");
});
