/** What wakes a command that looks again and again. */
import { expect, test } from "vitest";
import { createBell } from "../../src/cli/terminal/bell.ts";

/** Longer than any test. */
const NEVER_MS = 24 * 60 * 60_000;

test("a ring ends the wait under way, and one between two waits ends the next, once", async () => {
  const [bell, stop] = [createBell(), new AbortController()];
  const waits = bell.wait(NEVER_MS, stop.signal);
  bell.ring();
  await waits;
  bell.ring();
  await bell.wait(NEVER_MS, stop.signal);
  let isOver = false;
  const last = bell.wait(NEVER_MS, stop.signal).then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  stop.abort("SIGINT");
  await last;
  await bell.wait(NEVER_MS, stop.signal);
});
