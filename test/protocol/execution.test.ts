/** An execution as a value: what each attempt asks of a worker, and what a failure and an answer make of it. */
import { describe, expect, test } from "vitest";
import {
  type Execution,
  applyAnswer,
  beginAttempt,
  applyFailure,
  goOnWith,
  newExecution,
  taskOfExecution,
  wakeExecution,
} from "../../src/protocol/execution.ts";
import { beatDelayMs } from "../../src/protocol/chain.ts";
import { RETRY_GROUP, sameEntry, sameGroup } from "../../src/protocol/entry.ts";
import { BORN, RUN } from "../support/states/states-and-events.ts";

const payload = { run: RUN, born: BORN, chain: 1, epoch: 3, agent: "deeds" };
const NOW = 1_000_000;
const limits = { rescueMs: 30_000, entryAttemptsMax: 5, backoffMsMax: 60_000 };
const first = () => beginAttempt(newExecution({ name: "x", payload, now: NOW }), "token");
const die = (execution: Execution, cause: string | null = null): Execution =>
  applyFailure(execution, { now: NOW, limits, atOnce: false, isDeath: true, cause });
const rescue = (change: Partial<Execution> = {}): Execution => ({ ...first(), state: "Rescue", ...change });

describe("an attempt", () => {
  test("is counted, and has a token only when it parks", () => {
    expect(first()).toMatchObject({ state: "Beat", stage: "trying", attempt: 1, retry: 0, token: null });
    expect(beginAttempt({ ...first(), state: "Park", stage: "due" }, "token")).toMatchObject({
      attempt: 2,
      token: "token",
    });
  });

  test("of a new entry has no death and restarts its count; a retry keeps both", () => {
    const dead = die(first(), "killed");
    expect(beginAttempt(dead, "t")).toMatchObject({ retry: RETRY_GROUP, died: 0, cause: "killed" });
    const next = beginAttempt({ ...dead, state: "Wait", stage: "waiting" }, "t");
    expect(next).toMatchObject({ state: "Beat", retry: 0, died: null, cause: null });
  });

  test("that goes on by itself is at the beat that the chain would send next, and remains the same attempt", () => {
    const reply = { ...payload, epoch: 4, route: "beat", seconds: 1 } as const;
    const retried = { ...first(), retry: RETRY_GROUP, died: 0, cause: "killed" };
    const sent = beginAttempt(applyAnswer(retried, { answer: { kind: "beat", reply }, now: NOW }), "t");
    expect(goOnWith(retried, reply)).toEqual({ ...sent, attempt: retried.attempt });
  });

  test.each(["wait", "park", "renew", "done", "failed", "superseded"] as const)("does not go on to %s", (route) => {
    expect(goOnWith(first(), { ...payload, route, seconds: 1 })).toBeNull();
  });

  test("of a process that is too old for its run does not go on", () => {
    expect(goOnWith(first(), { ...payload, route: "beat", seconds: 1, behind: true })).toBeNull();
  });

  test("to hand over keeps the death that caused it", () => {
    const next = beginAttempt({ ...die(first(), "killed"), state: "Backoff", stage: "waiting" }, "t");
    expect(next).toMatchObject({ state: "Rescue", retry: 0, died: 0, cause: "killed" });
  });
});

describe("the task of an attempt", () => {
  test("to hand over contains the death and its cause, when there was one", () => {
    const dead = { execution: "x", epoch: 3, retry: 2_000 };
    expect(taskOfExecution(rescue({ died: 2_000, cause: "killed" }))).toEqual({
      kind: "rescue",
      payload,
      dead,
      cause: "killed",
    });
    expect(taskOfExecution(rescue())).toStrictEqual({ kind: "rescue", payload, dead: null });
  });

  test("to beat contains them as well", () => {
    const attempt = { execution: "x", epoch: 3, retry: 0, died: null };
    expect(taskOfExecution(first())).toStrictEqual({ kind: "beat", payload, attempt });
    expect(taskOfExecution({ ...first(), died: 0, cause: "killed" })).toEqual({
      ...{ kind: "beat", payload },
      attempt: { ...attempt, died: 0, cause: "killed" },
    });
  });

  test("to park contains the token that wakes it", () => {
    const attempt = { execution: "x", epoch: 3, retry: 2, died: null };
    const parking: Execution = { ...first(), state: "Park", retry: 2, died: 1, token: "token" };
    expect(taskOfExecution(parking)).toEqual({ kind: "park", payload, attempt, token: "token" });
  });

  test("to continue as new is its payload alone", () => {
    expect(taskOfExecution({ ...first(), state: "Renew" })).toEqual({ kind: "renew", payload });
  });
});

describe("after a beat", () => {
  const reply = { run: RUN, born: BORN, chain: 1, epoch: 4, agent: "deeds", seconds: 7 };
  const after = (route: string) =>
    applyAnswer(first(), { answer: { kind: "beat", reply: { ...reply, route } } as never, now: NOW });
  const moved = { payload: { ...payload, epoch: 4 }, seconds: 7, retry: 0 };

  test.each([
    ["beat", { state: "Beat", stage: "due", readyAt: NOW }],
    ["wait", { state: "Wait", stage: "waiting", readyAt: NOW + 7_000 }],
    ["park", { state: "Park", stage: "due", readyAt: NOW }],
    ["done", { state: "End", stage: "ended", readyAt: null }],
  ])("the route %s leads to the next state", (route, to) => {
    expect(after(route)).toMatchObject({ ...moved, ...to });
  });

  test("an execution that parked waits for the time of its beat, and one that continued as new ends", () => {
    const parked = applyAnswer({ ...after("park"), stage: "trying" }, { answer: { kind: "park" }, now: NOW });
    expect(parked).toMatchObject({ state: "Park", stage: "waiting", readyAt: NOW + 7_000 });
    const renewed = applyAnswer({ ...first(), state: "Renew" }, { answer: { kind: "renew" }, now: NOW });
    expect(renewed).toMatchObject({ state: "End", stage: "ended" });
  });

  test("a response that belongs to no execution changes nothing", () => {
    for (const kind of ["sweep", "cleanUp", "orphans", "firing"]) {
      expect(applyAnswer(first(), { answer: { kind } as never, now: NOW })).toEqual(first());
    }
    expect(() => applyAnswer(first(), { answer: { kind: "absent" } as never, now: NOW })).toThrow(/absent/);
  });
});

describe("after a hand-over", () => {
  test("the execution ends, or returns no sooner than requested and never without a pause", () => {
    const back = (until: number | null) =>
      applyAnswer(rescue({ died: 0, cause: "killed" }), { answer: { kind: "rescue", until } as never, now: NOW });
    expect(back(null)).toMatchObject({ state: "End", stage: "ended", readyAt: null });
    expect(back(NOW + 9_000)).toMatchObject({ state: "Rescue", readyAt: NOW + 9_000, died: 0, cause: "killed" });
    expect(back(NOW - 9_000)).toMatchObject({ readyAt: NOW + 250 });
  });
});

describe("a failure", () => {
  test("of a beat pauses for 0, 1, 2, 4 seconds and so on, up to the bound", () => {
    expect([1, 2, 3, 4, 5].map((failures) => beatDelayMs(failures, 3_500))).toEqual([0, 1_000, 2_000, 3_500, 3_500]);
  });

  test("records a death only when the process of a beat died, and keeps an earlier one", () => {
    const end = (execution: Execution, isDeath: boolean) =>
      applyFailure(execution, { now: NOW, limits, atOnce: true, isDeath, cause: "killed" });
    expect(end(first(), true)).toMatchObject({ died: 0, cause: "killed", readyAt: NOW });
    expect(end({ ...first(), retry: RETRY_GROUP }, true)).toMatchObject({ died: RETRY_GROUP, retry: 2 * RETRY_GROUP });
    expect(end(first(), false)).toMatchObject({ died: null, cause: null });
    expect(end(rescue({ died: 5, cause: "out of memory", retry: 1 }), true)).toMatchObject({
      ...{ died: 5, cause: "out of memory", retry: 2 },
    });
  });

  test("of a beat that keeps failing pauses longer each time", () => {
    const pauses = [0, 1, 2, 3].map((failures) => die({ ...first(), retry: failures * RETRY_GROUP }).readyAt);
    expect(pauses).toEqual([NOW, NOW + 1_000, NOW + 2_000, NOW + 4_000]);
    const many = applyFailure(
      { ...first(), retry: 9 * RETRY_GROUP },
      {
        ...{ now: NOW, atOnce: false, isDeath: true, limits: { ...limits, entryAttemptsMax: 100 } },
      },
    );
    expect(many).toMatchObject({ stage: "due", readyAt: NOW + 60_000 });
  });

  test("of another task, beyond the table of pauses, waits for the hand-over despite the attempts of beats", () => {
    const last = applyFailure(rescue({ retry: 4 }), {
      ...{ now: NOW, atOnce: false, isDeath: false, limits: { ...limits, entryAttemptsMax: 100 } },
    });
    expect(last).toMatchObject({ state: "Backoff", stage: "waiting", readyAt: NOW + limits.rescueMs });
  });

  test("beyond the last retry waits for the hand-over", () => {
    expect(die({ ...first(), retry: 4 * RETRY_GROUP })).toMatchObject({
      ...{ state: "Backoff", stage: "waiting", readyAt: NOW + limits.rescueMs, died: 4 * RETRY_GROUP },
    });
    expect(die({ ...first(), retry: 3 * RETRY_GROUP })).toMatchObject({ stage: "due", retry: 4 * RETRY_GROUP });
  });

  test("schedule 242: of an attempt that no process got is no try: it is due again with the same number", () => {
    const unsent = (atOnce: boolean) =>
      applyFailure({ ...first(), retry: 3 }, { now: NOW, limits, atOnce, isDeath: false, isUnsent: true });
    expect(unsent(true)).toEqual({ ...first(), retry: 3, stage: "due", readyAt: NOW });
    expect(unsent(false)).toEqual({ ...first(), retry: 3, stage: "due", readyAt: NOW + 1_000 });
  });

  test("hands on which function of the language was changed, until the beat has recorded it", () => {
    const changed = { intrinsic: "Array.prototype.map", tool: "book", epoch: 3 };
    const failed = applyFailure(first(), { now: NOW, limits, atOnce: true, isDeath: true, changed });
    expect(taskOfExecution(beginAttempt(failed, "t"))).toMatchObject({ kind: "beat", attempt: { changed } });
    const plain = taskOfExecution(beginAttempt(die(first()), "t"));
    expect(plain.kind === "beat" && "changed" in plain.attempt).toBe(false);
  });

  test("of another task counts by one, and pauses as the table states", () => {
    const retries = [0, 1, 2, 3, 4].map((retry) =>
      applyFailure(rescue({ retry }), { now: NOW, limits, atOnce: false, isDeath: false }),
    );
    expect(retries.map(({ stage, readyAt }) => ({ stage, waitMs: (readyAt ?? 0) - NOW }))).toEqual([
      { stage: "due", waitMs: 0 },
      { stage: "due", waitMs: 1_000 },
      { stage: "due", waitMs: 2_000 },
      { stage: "due", waitMs: 4_000 },
      { stage: "waiting", waitMs: limits.rescueMs },
    ]);
  });
});

test("a wake-up starts a beat at once", () => {
  expect(wakeExecution({ ...first(), state: "Park", token: "token" }, NOW)).toMatchObject({
    state: "Beat",
    readyAt: NOW,
  });
});

describe("two attempts", () => {
  const entry = { execution: "x", epoch: 3, retry: 0 };

  test("are of one entry when execution and epoch are the same", () => {
    expect(sameEntry(entry, { ...entry, retry: 9_000 })).toBe(true);
    expect([null, { ...entry, execution: "y" }, { ...entry, epoch: 4 }].map((one) => sameEntry(one, entry))).toEqual([
      ...[false, false, false],
    ]);
  });

  test("are of one group when the chain caught no failure in between", () => {
    const groups = [entry, { ...entry, retry: RETRY_GROUP - 1 }, { ...entry, retry: RETRY_GROUP }, null];
    expect(groups.map((one) => sameGroup(one, entry))).toEqual([true, true, false, false]);
    expect(sameGroup({ ...entry, retry: 1_500 }, { ...entry, retry: 1_700 })).toBe(true);
    expect(sameGroup({ ...entry, epoch: 4 }, entry)).toBe(false);
  });
});
