/** Several beats in one worker process, with real processes: what the end of one does to the others. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RETRY_GROUP } from "../../src/protocol/entry.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { createSupervisorHarness, eventsOf, waitUntil } from "../process/fixtures/supervisor-harness.ts";

test("schedule 141: one of three beats kills their process; no run counts a death, and each retry runs alone", async () => {
  const of = createSupervisorHarness();
  const held = ["held-a", "held-b"];
  for (const run of held) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 3 });
  await waitUntil("two are held", () => held.every((run) => of.noted(run).length === 1));
  await of.start("killed-c");
  await waitUntil("all are tried again", () => held.every((run) => of.noted(run).length === 2));
  of.go();
  const runs = [...held, "killed-c"];
  for (const run of runs) await of.ended(run);
  const begun = runs.map((run) => of.noted(run));
  expect(new Set(begun.map(([first]) => first?.pid)).size).toBe(1);
  expect(new Set(begun.map(([, second]) => second?.pid)).size).toBe(3);
  for (const tries of begun)
    expect(tries.map(({ retry, died }) => ({ retry, died }))).toEqual([
      { retry: 0, died: null },
      { retry: RETRY_GROUP, died: null },
    ]);
});

test("schedule 142: a beat has outlived its call and its process has to end; the other beat in it commits first", async () => {
  const of = createSupervisorHarness();
  await of.start("held-a");
  of.supervise({ workers: 1, beatsPerWorker: 2 });
  await waitUntil("one is held", () => of.noted("held-a").length === 1);
  await of.start("exits-b");
  await waitUntil("its neighbour has committed", () => of.noted("held-a").length === 2);
  of.go();
  for (const run of ["held-a", "exits-b"]) await of.ended(run);
  expect(of.noted("held-a").map(({ epoch, retry }) => ({ epoch, retry }))).toEqual([
    { epoch: 0, retry: 0 },
    { epoch: 1, retry: 0 },
  ]);
  // The late run goes on only when its process is gone.
  const [late, next] = of.noted("exits-b").map(({ pid }) => pid);
  expect(late).toBe(of.noted("held-a")[0]?.pid);
  expect(next).not.toBe(late);
  expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
});

test("schedule 245: a run that ends its process again takes no other run along the second time", async () => {
  const of = createSupervisorHarness();
  const held = ["held-a", "held-b", "held-c"];
  for (const run of held) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 16 });
  await waitUntil("three are held", () => held.every((run) => of.noted(run).length === 1));
  await of.start("killedTwice-x");
  const all = [...held, "killedTwice-x"];
  await waitUntil("all are tried again", () => all.every((run) => of.noted(run).length >= 2));
  writeFileSync(join(of.dir, "die"), "");
  await of.ended("killedTwice-x");
  of.go();
  for (const run of held) await of.ended(run);
  assertSafety("the second death cost no other run its beat", () => {
    for (const run of held) expect(of.noted(run)).toHaveLength(2);
  });
  const second = all.map((run) => of.noted(run)[1]?.pid);
  expect(new Set(second).size).toBe(all.length);
});

test("schedule 246: the first run of new code ends its process, and no other run is in it", async () => {
  const of = createSupervisorHarness();
  const held = ["held-a", "held-b", "held-c"];
  await of.start("killedLater-x");
  for (const run of held) await of.start(run);
  const first = of.supervise({ workers: 1, beatsPerWorker: 16 }, "tellsCode");
  // Its second try completes, and the code is known then.
  await of.ended("killedLater-x");
  await waitUntil("all are held", () => held.every((run) => of.noted(run).length > 0));
  of.go();
  for (const run of held) await of.ended(run);
  assertSafety("the death cost no other run its beat", () => {
    for (const run of held) expect(of.noted(run)).toHaveLength(1);
    const pidOf = (run: string): number | undefined => of.noted(run)[0]?.pid;
    expect(held.map(pidOf)).not.toContain(pidOf("killedLater-x"));
  });
  await first.drain();
  // The store remembers it: with the next supervisor runs share a process as soon as it has loaded that code.
  const next = ["asks-d", "asks-e", "asks-f"];
  for (const run of next) await of.start(run);
  of.supervise({ workers: 1, beatsPerWorker: 16 }, "tellsCode");
  for (const run of next) await waitUntil(`${run} has begun`, () => of.noted(run).length === 1);
  expect(new Set(next.map((run) => of.noted(run)[0]?.pid)).size).toBe(1);
});
