/**
 * Two supervisors on one store would end each other's attempts, and no run would get anywhere. The second one is told who
 * has the store, since when and what to type; the first one goes on as if nobody had asked.
 */
import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { childrenOf, supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import { StoreSupervised } from "../../../src/ports/supervision.ts";
import { waitForCount } from "../../support/gate/safety.ts";
import {
  LONG_TIMEOUTS,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  parseJsonLines,
  openGate,
  startQueuedRun,
  waitForOutput,
} from "../../support/processes/cli-process.ts";
import {
  eventsOf,
  identify,
  createSupervisorHarness,
  startSupervisorProcess,
} from "../../process/fixtures/supervisor-harness.ts";

test("`npx cairn work` twice refuses the second with what to type, and that command makes it accepted", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const run = await startQueuedRun(at, "gate", "note");
  const before = Date.now();
  const first = spawnCairn(at, ["work", "--json"], { npx: true });
  await waitForOutput(first, "attemptStarted");
  const pid = Number(parseJsonLines(first.out()).find(({ kind }) => kind === "supervising")?.["pid"]);
  const supervisor = identify(pid);
  onTestFinished(() => {
    if (first.child.exitCode === null) process.kill(supervisor.pid, "SIGKILL");
  });

  const second = await runCairn(at, ["work"], { npx: true });
  expect({ exit: second.exit, out: second.out }).toEqual({ exit: 4, out: "" });
  const [, since = ""] = / since (\S+), and only one can$/m.exec(second.err) ?? [];
  const next = `kill ${pid}`;
  expect(second.err).toContain(
    `error StoreSupervised: the store at ${at.store} is supervised by process ${pid} since ${since}, and only one can\n` +
      `why: leave the work to it, or stop it first: ${next}\nnext: ${next}\n`,
  );
  // It says whole seconds.
  expect(Date.parse(since)).toBeGreaterThan(before - 1_000);
  expect(Date.parse(since)).toBeLessThanOrEqual(Date.now());
  const { error } = await runCairnJson(at, ["work"]);
  expect(error).toMatchObject({ code: "StoreSupervised", pid, since: expect.any(Number), next });

  openGate(at);
  await waitForOutput(first, '"route":"done"');
  expect(await runCairnJson(at, ["show", run])).toMatchObject({ status: "completed", takeovers: 0 });
  // Its one child does everything, and nothing goes wrong. A slow command may have held the store for a moment.
  const told = new Set(parseJsonLines(first.out()).map(({ kind }) => kind));
  expect(told.difference(new Set(["waitingForStore", "storeIsBack"]))).toEqual(
    new Set(["supervising", "workerSpawned", "attemptStarted", "attemptAnswered", "moved"]),
  );

  execFileSync("sh", ["-c", next]);
  expect((await first.ended).exit).toBe(0);
  const third = spawnCairn(at, ["work"]);
  await waitForOutput(third, `pid ${third.child.pid} supervises ${at.store}`);
});

test("a second supervisor in the same program changes nothing: same children, same attempt, same end", async () => {
  const of = createSupervisorHarness();
  await of.start("held-a");
  const before = Date.now();
  const first = await startSupervisorProcess(of);
  await waitForCount("a beat of held-a", 1, () => of.noted("held-a").length);
  const children = childrenOf(of.store).all();
  for (let again = 0; again < 3; again += 1) expect(() => of.supervise()).toThrow(StoreSupervised);
  const refusal = refusalOf(() => of.supervise());
  expect(refusal.pid).toBe(first.pid);
  expect(refusal.since).toBeGreaterThanOrEqual(before);
  expect(refusal.since).toBeLessThanOrEqual(Date.now());
  expect(supervisorOf(of.store)?.pid).toBe(first.pid);
  expect(childrenOf(of.store).all()).toEqual(children);
  of.go();
  await of.ended("held-a");
  expect(of.noted("held-a")).toHaveLength(1);
  expect(eventsOf(of.events, "attemptFailed")).toEqual([]);
});

function refusalOf(second: () => unknown): StoreSupervised {
  try {
    second();
  } catch (error) {
    if (error instanceof StoreSupervised) return error;
    throw error;
  }
  throw new Error("it was not refused");
}
