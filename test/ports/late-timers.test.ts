import { expect, it } from "vitest";
import { afterReading } from "../../src/ports/late-timers.ts";

it.each([
  ["was over before it began", -41, 0],
  ["is longer than a timer of Node can wait", 2 ** 31, 2 ** 31 - 1],
  ["is an ordinary one", 250, 250],
])("starts a timer that Node keeps, without a warning, for a delay that %s", (_, delayMs, startedMs) => {
  const started: number[] = [];
  const after = afterReading({
    start: (ms) => {
      started.push(ms);
      return () => {};
    },
    poll: () => () => {},
    count: () => 0,
  });
  after(delayMs, () => {});
  expect(started).toEqual([startedMs]);
});
