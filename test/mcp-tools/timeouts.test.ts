/** A call that nobody waits for any more, since its time is over. */
import { expect, test } from "vitest";
import { waitForCount } from "../support/gate/safety.ts";
import { NO_SECRETS, callsOf, openDesk, serverOf } from "./desk.ts";

test.each([
  ["unsafe", "is cancelled", 1],
  ["keyed", "is not cancelled, since it is sent again under its key", 0],
] as const)("a call of the class %s that hangs %s", async (effect, _, cancelled) => {
  const desk = openDesk();
  const source = serverOf({ ...desk.options, effects: { post: effect } });
  const call = await callsOf(source, "desk_post", NO_SECRETS);
  desk.fault("hang");
  const timeout = new AbortController();
  const hung = call(timeout.signal);
  hung.catch(() => undefined);
  await waitForCount("the call reaches the server", 1, () => desk.seen("asked").length);
  timeout.abort();
  await expect(hung).rejects.toThrow(/aborted|did not answer in time/);
  // A cancellation arrives before the second call, on the same pipe.
  expect(await call()).toBe("post: a, no token");
  expect(desk.seen("started")).toHaveLength(1);
  expect(desk.seen("cancelled")).toHaveLength(cancelled);
});
