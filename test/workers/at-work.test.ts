/** What a worker process announces, and what its supervisor reads of it. */
import { expect, test } from "vitest";
import { announceInto, endedAt, openAtWork } from "../../src/workers/at-work.ts";

function opened() {
  const file = openAtWork();
  if (file === null) throw new Error("there is no room for it");
  return { announce: announceInto(file.fd), end: file.end };
}

test("what was announced and has not ended is there after the process, the newest first", () => {
  const { announce, end } = opened();
  const leave = announce({ run: "a", what: "tool pay" });
  announce({ run: "b", what: "the check\tpaid\n" });
  announce({ run: "a", what: "tool look" });
  leave();
  // A second end of the same announcement takes no other one away.
  leave();
  expect(end()).toEqual([
    { run: "a", what: "tool look" },
    { run: "b", what: "the check paid " },
  ]);
  expect(end()).toEqual([]);
});

test("a list that is too long loses what began first", () => {
  const { announce, end } = opened();
  for (let index = 0; index < 200; index += 1) announce({ run: "run", what: `tool number-${index}` });
  const read = end();
  expect(read[0]).toEqual({ run: "run", what: "tool number-199" });
  expect(read.length).toBeGreaterThan(50);
  expect(read.length).toBeLessThan(200);
});

test("nothing was announced, and nothing is said", () => {
  expect(opened().end()).toEqual([]);
  expect(endedAt("SIGKILL", "a", [])).toBe("SIGKILL");
});

test("the end of a process names the code of that run, and of no other one", () => {
  const code = [
    { run: "a", what: "tool pay" },
    { run: "b", what: "tool ruin" },
    { run: "a", what: "tool pay" },
  ];
  expect(endedAt("exit code 1", "a", code)).toBe("exit code 1, while tool pay was at work");
  expect(endedAt("exit code 1", "c", code)).toBe("exit code 1");
  const two = [...code, { run: "a", what: "tool look" }];
  expect(endedAt("exit code 1", "a", two)).toBe("exit code 1, while tool pay and tool look were at work");
});
