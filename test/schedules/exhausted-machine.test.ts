/** A machine without room for another process, and what its runs are told. */
import { expect, test } from "vitest";
import { applyFailure, beginAttempt, newExecution } from "../../src/protocol/execution.ts";
import { NOW } from "../process/fixtures/store.ts";
import { FULL, fullMachine } from "../support/faults/full-machine.ts";

test("schedule 240: workers die at boot for want of process IDs; no run is blamed, and none is started for a while", () => {
  const { state, said, ends, begin, tell, wait } = fullMachine();
  for (const ms of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
    tell(begin(), "close", null, "SIGABRT");
    expect(said.at(-1)).toBe(`${ms}: ${FULL}`);
    expect(begin()).toBeNull();
    wait(ms);
  }
  expect(said).not.toContain("unbootable");
  expect(new Set(ends.map((end) => end.kind === "failed" && [end.hasDied, end.isUnsent].join()))).toEqual(
    new Set(["false,true"]),
  );
  state.lacks = null;
  tell(begin(), "message", { kind: "ready" });
  expect(said.at(-1)).toBe("again");
});

test("schedule 241: a worker ends in its task on such a machine, and its run counts no death", () => {
  const { state, ends, begin, tell, wait } = fullMachine();
  const first = begin();
  tell(first, "message", { kind: "ready" });
  tell(first, "close", null, "SIGABRT");
  expect(ends.at(-1)).toMatchObject({ hasDied: false, isUnsent: false, how: `SIGABRT: ${FULL}` });
  wait(1_000);
  // The same end on a machine with room is a death, and so is a kill from outside.
  for (const [lacks, signal] of [
    [null, "SIGABRT"],
    [FULL, "SIGKILL"],
  ] as const) {
    state.lacks = lacks;
    const worker = begin();
    tell(worker, "message", { kind: "ready" });
    tell(worker, "close", null, signal);
    expect(ends.at(-1)).toMatchObject({ hasDied: true, how: expect.stringMatching(new RegExp(`^${signal}`)) });
  }
});

test("schedule 242: an attempt that no process got keeps its retry number, however often", () => {
  const limits = { rescueMs: 60_000, entryAttemptsMax: 5, backoffMsMax: 300_000 };
  const payload = { run: "local-run", born: "born", chain: 1, epoch: 4, agent: "clerk" };
  let execution = newExecution({ name: "one", payload, now: NOW });
  for (let count = 0; count < 20; count += 1) {
    const failure = { now: NOW, limits, atOnce: false, isDeath: false, isUnsent: true };
    execution = applyFailure(beginAttempt(execution, "token"), failure);
    expect(execution).toMatchObject({ state: "Beat", stage: "due", retry: 0, died: null, attempt: count + 1 });
    expect(execution.readyAt).toBe(NOW + 1_000);
  }
});
