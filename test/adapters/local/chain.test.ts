/** The executions of the embedded chain in a store, step by step. */
import { describe, expect, it } from "vitest";
import { sqliteChain } from "../../../src/adapters/local/chain.ts";
import type { Store } from "../../../src/adapters/local/store/database.ts";
import {
  type TaskAnswer,
  type Execution,
  applyAnswer,
  applyFailure,
  taskOfExecution,
} from "../../../src/protocol/execution.ts";
import { executionsOf } from "../../../src/adapters/local/store/executions.ts";
import type { Executions } from "../../../src/ports/driven-store.ts";
import { type Payload, type Reply, type Route, RETRY_DELAYS_MS, beatDelayMs } from "../../../src/protocol/chain.ts";
import { RETRY_GROUP } from "../../../src/protocol/entry.ts";
import type { Clock } from "../../../src/ports/world.ts";
import { NOW, open, temporaryDir, temporaryStore } from "../../process/fixtures/store.ts";

const PAYLOAD: Payload = { run: "local-run", born: "born", chain: 1, epoch: 4, agent: "clerk" };
const NAME = "local-run-born-1";
const RESCUE_MS = 60_000;
const LIMITS = { rescueMs: RESCUE_MS, entryAttemptsMax: 100, backoffMsMax: 300_000 };

const reply = (route: Route, change: Partial<Reply> = {}): TaskAnswer => ({
  kind: "beat",
  reply: { ...PAYLOAD, epoch: 5, route, seconds: 7, ...change },
});

function at(now: number): Clock {
  return { now: () => now, earliest: () => now, after: () => () => {} };
}

function startedIn(store: Store): Executions {
  const executions = executionsOf(store);
  expect(executions.start({ name: NAME, payload: PAYLOAD, now: NOW })).toBeNull();
  return executions;
}

function begin(executions: Executions, now: number, name = NAME): Execution {
  const execution = executions.begin(name, now);
  if (execution === null) throw new Error(`${name} is not ready`);
  return execution;
}

const answer = (executions: Executions, of: { attempt: Execution; answer: TaskAnswer; now?: number }) =>
  executions.settle(of.attempt, (found) => applyAnswer(found, { answer: of.answer, now: of.now ?? NOW }));

const fail = (executions: Executions, attempt: Execution, now = NOW) =>
  executions.settle(attempt, (found) => applyFailure(found, { now, limits: LIMITS, atOnce: false, isDeath: true }));

describe("start", () => {
  it("starts a name at most once, and reports whether its execution is running", async () => {
    const store = temporaryStore();
    const chain = sqliteChain(store, at(NOW));
    expect(await chain.start(NAME, PAYLOAD)).toEqual({ kind: "started" });
    expect(await chain.start(NAME, { ...PAYLOAD, epoch: 99 })).toEqual({ kind: "exists", running: true });
    const executions = executionsOf(store);
    const attempt = begin(executions, NOW);
    expect(taskOfExecution(attempt)).toMatchObject({ kind: "beat", payload: PAYLOAD });
    answer(executions, { attempt, answer: reply("done") });
    expect(await chain.start(NAME, PAYLOAD)).toEqual({ kind: "exists", running: false });
  });
});

describe("after a beat", () => {
  it("beats again at once with the new payload, after executions that waited longer", () => {
    const executions = startedIn(temporaryStore());
    executions.start({ name: "other", payload: PAYLOAD, now: NOW + 1 });
    const attempt = begin(executions, NOW);
    answer(executions, { attempt, answer: reply("beat"), now: NOW + 2 });
    expect(executions.ready(NOW + 2, 1)[0]?.name ?? null).toBe("other");
    begin(executions, NOW + 2, "other");
    expect(executions.ready(NOW + 2, 1)[0]?.name ?? null).toBe(NAME);
    const next = begin(executions, NOW + 2);
    expect(taskOfExecution(next)).toEqual({
      kind: "beat",
      payload: { ...PAYLOAD, epoch: 5 },
      attempt: { execution: NAME, epoch: 5, retry: 0, died: null },
    });
  });

  it("waits for the seconds of the reply, then beats", () => {
    const executions = startedIn(temporaryStore());
    answer(executions, { attempt: begin(executions, NOW), answer: reply("wait") });
    expect(executions.ready(NOW + 6_999, 1)[0]?.name ?? null).toBeNull();
    expect(executions.begin(NAME, NOW + 6_999)).toBeNull();
    expect(executions.ready(NOW + 7_000, 1)[0]?.name ?? null).toBe(NAME);
    expect(begin(executions, NOW + 7_000)).toMatchObject({ state: "Beat", retry: 0, payload: { epoch: 5 } });
  });

  it.each(["done", "failed", "superseded"] as const)("ends with %s, and no entry is ready", (route) => {
    const executions = startedIn(temporaryStore());
    const ended = answer(executions, { attempt: begin(executions, NOW), answer: reply(route) });
    expect(ended).toMatchObject({ state: "End", readyAt: null });
    expect(executions.ready(Number.MAX_SAFE_INTEGER, 1)[0]?.name ?? null).toBeNull();
  });
});

describe("park", () => {
  function parkedIn(store: Store): { readonly executions: Executions; readonly attempt: Execution } {
    const executions = startedIn(store);
    answer(executions, { attempt: begin(executions, NOW), answer: reply("park") });
    return { executions, attempt: begin(executions, NOW) };
  }
  const tokenOf = ({ token }: Execution): string => {
    if (token === null) throw new Error("it has no token");
    return token;
  };

  it("stores a fresh token before it sends the task, and beats when its time is up", () => {
    const { executions, attempt } = parkedIn(temporaryStore());
    expect(taskOfExecution(attempt)).toEqual({
      kind: "park",
      payload: { ...PAYLOAD, epoch: 5 },
      attempt: { execution: NAME, epoch: 5, retry: 0, died: null },
      token: tokenOf(attempt),
    });
    answer(executions, { attempt, answer: { kind: "park" }, now: NOW });
    expect(executions.ready(NOW + 6_999, 1)[0]?.name ?? null).toBeNull();
    const beat = begin(executions, NOW + 7_000);
    expect(beat).toMatchObject({ state: "Beat", retry: 0, token: null, payload: { ...PAYLOAD, epoch: 5 } });
  });

  it("beats once when it is woken", async () => {
    const store = temporaryStore();
    const { executions, attempt } = parkedIn(store);
    answer(executions, { attempt, answer: { kind: "park" } });
    const chain = sqliteChain(store, at(NOW + 100));
    expect(await chain.wake("another token")).toEqual({ kind: "awake" });
    expect(await chain.wake(tokenOf(attempt))).toEqual({ kind: "woken" });
    expect(await chain.wake(tokenOf(attempt))).toEqual({ kind: "awake" });
    expect(begin(executions, NOW + 100)).toMatchObject({ state: "Beat", retry: 0, payload: { epoch: 5 } });
  });

  it("does not lose a wake-up that arrives before the reply to its task", async () => {
    const store = temporaryStore();
    const { executions, attempt } = parkedIn(store);
    expect(await sqliteChain(store, at(NOW + 1)).wake(tokenOf(attempt))).toEqual({ kind: "woken" });
    expect(answer(executions, { attempt, answer: { kind: "park" } })).toBeNull();
    const beat = begin(executions, NOW + 1);
    expect(beat).toMatchObject({ state: "Beat", retry: 0 });
    // A late reply or a late death of the park attempt does not disturb the beat that runs meanwhile.
    expect(answer(executions, { attempt, answer: { kind: "park" } })).toBeNull();
    expect(fail(executions, attempt)).toBeNull();
    expect(answer(executions, { attempt: beat, answer: reply("done") })?.state).toBe("End");
  });

  it("is tried again with another token and a higher retry, and loses no wake-up in between", async () => {
    const store = temporaryStore();
    const { executions, attempt } = parkedIn(store);
    fail(executions, attempt);
    const second = begin(executions, NOW);
    expect(taskOfExecution(second)).toMatchObject({ kind: "park", attempt: { retry: 1 } });
    expect(second.token).not.toBe(attempt.token);
    const chain = sqliteChain(store, at(NOW));
    expect(await chain.wake(tokenOf(attempt))).toEqual({ kind: "awake" });
    fail(executions, second);
    expect(await chain.wake(tokenOf(second))).toEqual({ kind: "woken" });
    expect(begin(executions, NOW)).toMatchObject({ state: "Beat", retry: 0 });
  });
});

describe("attempts that die", () => {
  it("are followed by higher retries of the same entry after growing pauses, then by a rescue (schedule 24)", () => {
    const executions = startedIn(temporaryStore());
    let now = NOW;
    for (let failures = 1; failures < LIMITS.entryAttemptsMax; failures += 1) {
      const attempt = begin(executions, now);
      expect(attempt).toMatchObject({ state: "Beat", retry: (failures - 1) * RETRY_GROUP, payload: PAYLOAD });
      const readyAt = now + beatDelayMs(failures, LIMITS.backoffMsMax);
      expect(fail(executions, attempt, now)).toMatchObject({ retry: failures * RETRY_GROUP, readyAt });
      now = readyAt;
    }
    const last = begin(executions, now);
    expect(fail(executions, last, now)).toMatchObject({ state: "Backoff", readyAt: now + RESCUE_MS });
    expect(executions.ready(now + RESCUE_MS - 1, 1)[0]?.name ?? null).toBeNull();
    now += RESCUE_MS;
    const rescue = begin(executions, now);
    const dead = { execution: NAME, epoch: PAYLOAD.epoch, retry: last.retry };
    expect(taskOfExecution(rescue)).toEqual({ kind: "rescue", payload: PAYLOAD, dead });
    // The lease of the run has not expired.
    answer(executions, { attempt: rescue, answer: { kind: "rescue", until: now + 1_000 }, now });
    expect(executions.ready(now + 999, 1)[0]?.name ?? null).toBeNull();
    const again = begin(executions, now + 1_000);
    expect(again).toMatchObject({ state: "Rescue", retry: 0 });
    expect(taskOfExecution(again)).toMatchObject({ dead });
    const ended = answer(executions, { attempt: again, answer: { kind: "rescue", until: null }, now });
    expect(ended).toMatchObject({ state: "End" });
  });

  it("pause for 0, 1, 2, 4 seconds and so on, up to a limit", () => {
    expect([1, 2, 3, 4, 9, 10, 11, 99].map((failures) => beatDelayMs(failures, 300_000) / 1_000)).toEqual([
      ...[0, 1, 2, 4, 128, 256, 300, 300],
    ]);
  });

  it("record which attempt is known to have died, and keep that over failures without evidence", () => {
    const executions = startedIn(temporaryStore());
    let now = NOW;
    const next = (isDeath: boolean) => {
      const attempt = begin(executions, now);
      const moved = executions.settle(attempt, (found) =>
        applyFailure(found, { now, limits: LIMITS, atOnce: false, isDeath }),
      );
      now = moved?.readyAt ?? now;
      return moved?.died;
    };
    expect([next(false), next(true), next(false), next(true)]).toEqual([null, 1_000, 1_000, 3_000]);
    const attempt = begin(executions, now);
    expect(taskOfExecution(attempt)).toMatchObject({ attempt: { retry: 4_000, died: 3_000 } });
    answer(executions, { attempt, answer: reply("beat"), now });
    expect(taskOfExecution(begin(executions, now))).toMatchObject({ attempt: { retry: 0, died: null } });
  });

  /** Park is tried several times, then Rescue handles the run. */
  const exhaust = (executions: Executions, from: number): Execution | null => {
    let [moved, now]: [Execution | null, number] = [null, from];
    for (let attempt = 0; attempt <= RETRY_DELAYS_MS.length; attempt += 1) {
      moved = fail(executions, begin(executions, now), now);
      now = moved?.readyAt ?? now;
    }
    return moved;
  };
  const parkedOut = (executions: Executions): Execution | null => {
    answer(executions, { attempt: begin(executions, NOW), answer: reply("park") });
    return exhaust(executions, NOW);
  };

  it("a rescue that dies too often backs off and is tried again (schedule 38)", () => {
    const executions = startedIn(temporaryStore());
    const first = parkedOut(executions);
    expect(first).toMatchObject({ state: "Backoff", retry: 0 });
    const second = exhaust(executions, first?.readyAt ?? 0);
    expect(second).toMatchObject({ state: "Backoff", retry: 0, died: null });
    expect(begin(executions, second?.readyAt ?? 0)).toMatchObject({ state: "Rescue", retry: 0 });
  });

  it("a rescue with a time in the past is not repeated without a pause", () => {
    const executions = startedIn(temporaryStore());
    const now = parkedOut(executions)?.readyAt ?? 0;
    const moved = answer(executions, { attempt: begin(executions, now), answer: { kind: "rescue", until: 0 }, now });
    expect(moved?.readyAt).toBeGreaterThan(now);
  });

  it("with their supervisor are counted once and retried at once", () => {
    const dir = temporaryDir();
    const executions = startedIn(open(dir));
    fail(executions, begin(executions, NOW));
    fail(executions, begin(executions, NOW));
    expect(begin(executions, NOW + 1_000).retry).toBe(2_000);

    // The supervisor dies; the next one sees only the data on disk.
    const next = executionsOf(open(dir));
    const recover = () => next.recover({ now: NOW + 1_001, limits: LIMITS });
    recover();
    recover();
    expect(begin(next, NOW + 1_001)).toMatchObject({ state: "Beat", retry: 3_000, died: 2_000, payload: PAYLOAD });
  });

  it("do not affect entries that were not running when the supervisor died", () => {
    const executions = startedIn(temporaryStore());
    fail(executions, begin(executions, NOW));
    executions.recover({ now: NOW, limits: LIMITS });
    expect(begin(executions, NOW).retry).toBe(1_000);
  });
});
