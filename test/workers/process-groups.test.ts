/** What is left of the process group of a killed worker. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { livingIn, whenEmpty } from "../../src/workers/process-groups.ts";
import { killGroup } from "../../src/adapters/local/process-identity.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { systemClock } from "../../src/adapters/local/clock.ts";
import { NOW } from "../process/fixtures/store.ts";

const GROUP = 2 ** 30;

/** A group that is empty after so many kills. */
function group(killsNeeded: number) {
  const clock = virtualClock(NOW);
  let kills = 0;
  const ends: (readonly number[])[] = [];
  whenEmpty(GROUP, {
    clock,
    onEmpty: (left) => void ends.push(left),
    living: () => (kills < killsNeeded ? [GROUP + 1] : []),
    kill: () => (kills += 1),
  });
  return { clock, ends, kills: () => kills };
}

test("a group that is empty already is reported at once", () => {
  expect(group(0).ends).toEqual([[]]);
});

test("a group is killed again until nothing of it lives", () => {
  const { clock, ends, kills } = group(3);
  expect(ends).toEqual([]);
  clock.moveTo(NOW + 1_000);
  expect({ ends, kills: kills() }).toEqual({ ends: [[]], kills: 3 });
});

test("what hangs in the kernel is named after five seconds, and the supervisor goes on", () => {
  const { clock, ends } = group(Infinity);
  clock.moveTo(NOW + 4_500);
  expect(ends).toEqual([]);
  clock.moveTo(NOW + 6_000);
  expect(ends).toEqual([[GROUP + 1]]);
});

test("real processes of a group are found while they live", async () => {
  const shell = spawn("/bin/sh", ["-c", "sleep 600 & echo begun; wait"], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const pid = shell.pid ?? 0;
  onTestFinished(() => killGroup(pid));
  await once(createInterface({ input: shell.stdout }), "line");
  expect(livingIn(pid).length).toBeGreaterThanOrEqual(1);
  const { promise, resolve } = Promise.withResolvers<readonly number[]>();
  whenEmpty(pid, { clock: systemClock, onEmpty: resolve });
  expect(await promise).toEqual([]);
  expect(livingIn(pid)).toEqual([]);
});
