/** What a supervisor does when its machine starts no worker. */
import { expect, test } from "vitest";
import { leave } from "../../src/workers/worker-process.ts";
import { fullMachine } from "../support/faults/full-machine.ts";

test("a process that waits for threads for ever is killed at boot, which stops no supervisor", () => {
  const { said, begin, tell, wait } = fullMachine();
  for (let count = 0; count < 7; count += 1) {
    const worker = begin();
    // As its boot does after 30 seconds.
    if (worker !== null) leave(worker, { how: "killed: it was not ready in time" });
    tell(worker, "close", null, "SIGKILL");
    wait(5_000);
  }
  expect(said).not.toContain("unbootable");
});

test("a start that the system refuses makes the task wait, and ends no idle worker", () => {
  const { state, said, begin, workers, tell, wait } = fullMachine();
  const first = begin();
  tell(first, "message", { kind: "ready" });
  [state.refuses, state.lacks] = [true, null];
  expect(begin()).toBeNull();
  expect(said).toEqual(["250: no more processes"]);
  expect(begin()).toBeNull();
  expect({ said: said.length, workers: workers.length, leaving: first?.leaving }).toEqual({
    said: 1,
    workers: 1,
    leaving: null,
  });
  state.refuses = false;
  wait(250);
  expect(begin()).not.toBeNull();
});
