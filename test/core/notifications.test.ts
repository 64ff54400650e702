/** What a commit tells: by its events, and by where it takes the run. */
import { expect, test } from "vitest";
import { isOfEnd, notificationsIn } from "../../src/core/notifications.ts";
import { type Event } from "../../src/core/event.ts";

const AT = 1_000;
const lost: Event = { kind: "ToolOutcomeUnknown", at: AT, call: "c1", why: "it died", reconcilableFrom: AT };

test("tells that a run is blocked once, when it becomes so", () => {
  expect(notificationsIn({ events: [lost], from: "running", to: "blocked" })).toEqual([
    { kind: "run.blocked", at: AT },
  ]);
  expect(notificationsIn({ events: [lost], from: "blocked", to: "blocked" })).toEqual([]);
  expect(notificationsIn({ events: [], from: "running", to: "blocked" })).toEqual([]);
});

test("keeps the order of the events, and leaves out what is content", () => {
  const events: readonly Event[] = [
    { kind: "CrackSignalled", at: AT, crack: "runaway", why: "80 % of 10", times: 1, section: 0 },
    { kind: "RunEnded", at: AT + 1, status: "failed", failure: { code: "NotDone", message: "secret words" } },
  ];
  const told = notificationsIn({ events, from: "running", to: "failed" });
  expect(told).toEqual([
    { kind: "crack.signalled", at: AT, crack: "runaway" },
    { kind: "run.failed", at: AT + 1, code: "NotDone" },
  ]);
  expect(told.map(isOfEnd)).toEqual([false, true]);
});

test("a wait for an event or a time asks nobody", () => {
  const wait = (what: "answer" | "event" | "time"): Event => ({
    ...{ kind: "WaitBegun", at: AT, call: "c2", epoch: 1 },
    wait: { for: what, until: null, atLimit: { kind: "tell" } },
  });
  const told = notificationsIn({
    events: [wait("event"), wait("time"), wait("answer")],
    from: "running",
    to: "waiting",
  });
  expect(told).toEqual([{ kind: "question.asked", at: AT, call: "c2" }]);
});
