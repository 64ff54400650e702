/**
 * How the machine moves, against the chain that it is made from. `execution.ts` is the same chain for the worlds that drive
 * their executions themselves: whatever tasks come to, both send the same tasks.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AskedRescue, readRescue } from "../../functions/machine.ts";
import { definitionOf } from "../../src/adapters/aws/machine/asl.ts";
import type { StateName } from "../../src/adapters/aws/machine/asl-states.ts";
import { RouteError } from "../../src/adapters/aws/machine/machine-input.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Task as ChainTask, Route } from "../../src/protocol/chain.ts";
import {
  type TaskAnswer,
  type Execution,
  applyAnswer,
  beginAttempt,
  applyFailure,
  newExecution,
  taskOfExecution,
  wakeExecution,
} from "../../src/protocol/execution.ts";
import type { Running, Task } from "../support/aws/state-machine.ts";
import * as at from "../support/aws/state-machine-start.ts";
import { crashMachineTask, startMachineRun, runMachineToEnd } from "../support/aws/state-machine-runs.ts";
import { scriptedAgent, createHarness } from "../support/harness/harness.ts";

const { FUNCTIONS, ISOLATED, PAYLOAD, ROUTES, TIMES, attemptOf, startMachine, outcomeOf, reply, endWithReply } = at;

describe("a beat that fails", () => {
  const attempt = (retry: number, died: number | null) => ({
    execution: "local-abc-b1-1",
    epoch: 0,
    retry,
    died,
    changed: null,
  });

  test("is retried as the next group of the same entry, and names the group that died", () => {
    const first = startMachine().end({ error: "Runtime.ExitError" });
    expect({ state: first.state, attempt: attemptOf(first) }).toEqual({ state: "Beat", attempt: attempt(1_000, 0) });
    const second = first.end({ error: "StoreUnreachable" });
    expect(attemptOf(second)).toEqual(attempt(2_000, 0));
    const third = second.end({ error: "Sandbox.Timedout" });
    expect(attemptOf(third)).toEqual(attempt(3_000, 2_000));
  });

  test("is not refused because of the attempt that died before it", async () => {
    const harness = createHarness();
    const by = { world: harness.world, agent: scriptedAgent({}) };
    const { run, machine } = await startMachineRun(harness, by.agent);
    await runMachineToEnd(harness, await crashMachineTask(await crashMachineTask(machine, by), by), by);
    expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 2, chain: 1, deaths: 0 });
  });

  test.each(["StoreUnreachable", "Undecided"])("with %s does not count as a death", (error) => {
    expect(attemptOf(startMachine().end({ error }))).toEqual(attempt(1_000, null));
  });

  test("before its start is retried within its group, and then is the next group without a death", () => {
    let running = startMachine();
    for (let retry = 1; retry <= 100; retry += 1) {
      running = running.end({ error: "Lambda.TooManyRequestsException" });
      expect(attemptOf(running)).toEqual(attempt(retry, null));
    }
    expect(attemptOf(running.end({ error: "Lambda.TooManyRequestsException" }))).toEqual(attempt(1_000, null));
  });

  test("and then succeeds counts from 0 again, with the first pause", () => {
    const applyFailure = startMachine().end({ error: "TypeError" }).end({ error: "TypeError" });
    expect(applyFailure.waited).toBe(2);
    for (const route of ["beat", "wait"] as const) {
      const again = endWithReply(applyFailure, { route, epoch: 1 });
      expect(attemptOf(again)).toMatchObject({ epoch: 1, retry: 0, died: null });
      expect(again.end({ error: "TypeError" }).waited).toBe(1);
    }
  });

  test.each([0, 0.999_999])("doubles its pause each time, up to 5 minutes, jitter %f", (jitter) => {
    const { backoffMsMax } = limitsFor(60_000);
    let running = startMachine({ draw: () => jitter });
    const pauses = Array.from({ length: 20 }, () => {
      running = running.end({ error: "Runtime.ImportModuleError" });
      return running.waited;
    });
    const least = [1, 2, 4, 8, 16, 32, 64, 128, ...Array.from({ length: 12 }, () => 150)];
    expect(pauses).toEqual(least.map((seconds) => (jitter === 0 ? seconds : 2 * seconds - 1)));
    expect(2 * (least.at(-1) ?? 0)).toBe(backoffMsMax / 1_000);
  });

  test("as often as an entry may fail is handed over, with the known death", () => {
    let running = startMachine();
    for (let tries = 0; tries < 99; tries += 1) running = running.end({ error: tries === 4 ? "Error" : "Undecided" });
    expect(attemptOf(running)).toEqual(attempt(99_000, 4_000));
    const rescued = running.end({ error: "Undecided" });
    expect(rescued).toMatchObject({ state: "Rescue", waited: 60 });
    const asked = rescued.task?.event as AskedRescue;
    const entry = { execution: "local-abc-b1-1", epoch: 0 };
    expect(readRescue(asked)).toEqual({ kind: "rescue", payload: PAYLOAD, dead: { ...entry, retry: 4_000 } });
  });
});

describe("the function version that an execution calls", () => {
  const codeOf = ({ task }: Running): unknown => task?.code;

  test("is that of its first beat, despite deploys between its beats, waits and failures", () => {
    const first = startMachine();
    expect(codeOf(first)).toBe("live");
    const second = endWithReply(first, { route: "beat", epoch: 2 });
    expect(codeOf(second)).toBe("7");
    const applyFailure = second.end({ error: "Runtime.ExitError" }).end({ error: "StoreUnreachable" });
    expect({ state: applyFailure.state, code: codeOf(applyFailure) }).toEqual({ state: "Beat", code: "7" });
    expect(codeOf(endWithReply(applyFailure, { route: "wait", epoch: 4, seconds: 60 }))).toBe("7");
    // Its version is too old for the run.
    expect(codeOf(endWithReply(applyFailure, { route: "wait", epoch: 4, seconds: 60, behind: true }))).toBe("live");
  });

  test("is the newest one after a park, because the run may have waited for it", () => {
    const parked = endWithReply(endWithReply(startMachine(), { route: "beat", epoch: 2 }), {
      route: "park",
      epoch: 4,
      seconds: 60,
    });
    expect(parked.state).toBe("Park");
    expect(codeOf(parked.end({ answer: null }))).toBe("live");
    expect(codeOf(parked.end({ error: "States.Timeout" }))).toBe("live");
  });
});

describe("the response of a beat", () => {
  test("leads to a rescue without a death where none is known", () => {
    const entry = { execution: "x", epoch: 0 };
    expect(readRescue({ kind: "rescue", payload: PAYLOAD, dead: { ...entry, retry: null } }).dead).toBeNull();
    expect(readRescue({ kind: "rescue", payload: PAYLOAD, dead: { ...entry, retry: 0 } }).dead).toEqual({
      ...{ ...entry, retry: 0 },
    });
  });

  test("appears as a short route in a log, marked as no failure", () => {
    const { message, stack } = new RouteError(reply({ route: "park", seconds: 2_592_000, epoch: 123_456 }), "123456");
    expect(message).toMatch(/^no failure, but the route park ~[\w+/=]+~$/);
    expect(message.length).toBeLessThan(320);
    expect(stack).toBe("CairnPark");
    expect(new RouteError(reply({ route: "done" }), "7").message).toBe("no failure, but the route done");
  });
});

describe("the machine compared with the chain of the other worlds", () => {
  /** Of how a task fails: nothing; no evidence of a death; and evidence of one, if it is a beat. */
  const FAILURES = {
    no: false,
    StoreUnreachable: false,
    Undecided: false,
    throttled: false,
    "Runtime.ExitError": true,
    "Sandbox.Timedout": true,
    "States.Timeout": true,
    TypeError: true,
  } as const;
  type Failure = keyof typeof FAILURES;
  const outcomes = fc.array(
    fc.record({
      route: fc.constantFrom(...ROUTES),
      seconds: fc.integer({ min: 1, max: 60 }),
      epoch: fc.nat(99),
      fails: fc.constantFrom<Failure>("no", "no", ...(Object.keys(FAILURES) as Failure[])),
      until: fc.boolean(),
      wakes: fc.boolean(),
      isThere: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  /** So few attempts that an entry runs out of them now and then. */
  const LIMITS = { rescueMs: 60_000, entryAttemptsMax: 6, backoffMsMax: 8_000 };
  const short = { ...TIMES, triesMax: 6_000, backoffSeconds: 4 };

  test.each([
    ["shared", FUNCTIONS],
    ["isolated", ISOLATED],
  ])("with %s agents sends the same tasks, whatever their outcomes", (which, functions) => {
    const from = definitionOf({ functions, ...short });
    const without = (task: object) => (which === "shared" ? withoutAgent(task) : task);
    const met = new Set<string>();
    fc.assert(
      fc.property(outcomes, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (steps, jitter) => {
        let machine = startMachine({ from, draw: () => jitter });
        let chain: Execution = beginAttempt(
          newExecution({ name: "local-abc-b1-1", payload: PAYLOAD, now: 0 }),
          "token-0",
        );
        for (const { route, seconds, epoch, fails: drawn, until, wakes, isThere } of steps) {
          expect(machine.task === null).toBe(chain.stage === "ended");
          if (machine.task === null) return;
          const isAbsent = which === "isolated" && machine.state === "Beat" && !isThere;
          if (isAbsent) machine = machine.end({ error: "Lambda.ResourceNotFoundException" });
          expect({ ...asked(machine.task), token: null }).toEqual({ ...without(taskOfExecution(chain)), token: null });
          expect(machine.state).toBe(isAbsent ? "Shared" : chain.state);
          const { state } = chain;
          met.add(`${state} ${drawn}`);
          const fails = failureAt(state, drawn);
          const isOver = state === "Park" && !wakes && fails === "no";
          const answer = answerOf(state, { route, seconds, epoch, until });
          machine = isOver ? machine.end({ error: "States.Timeout" }) : ended(machine, { answer, fails });
          const settled = moved(chain, { answer, fails, wakes });
          if (state === "Beat" && fails !== "no") expectNear(machine, settled);
          chain = settled.stage === "ended" ? settled : beginAttempt(settled, "token");
        }
      }),
      { numRuns: 1_000 },
    );
    for (const state of ["Beat", "Park", "Renew", "Rescue"]) expect(met).toContain(`${state} Runtime.ExitError`);
  });

  /** The time of a park that is over is no failure, and only a beat outlives the retries of its throttling in the chain. */
  function failureAt(state: StateName, drawn: Failure): Failure {
    if (state === "Beat") return drawn;
    return drawn === "throttled" || drawn === "States.Timeout" ? "Sandbox.Timedout" : drawn;
  }

  function asked(sent: Task | null): object {
    const task = sent?.event as ChainTask & { readonly shared?: boolean };
    if (task.kind === "rescue") return readRescue(task as AskedRescue);
    if (task.kind !== "beat") return task;
    // The chain names nothing where nothing was changed. Retries of Shared are above those of Beat in the same group.
    const { shared, attempt: named, ...beat } = task;
    const { changed: _, ...attempt } = named;
    return { ...beat, attempt: { ...attempt, retry: attempt.retry - (shared === true ? 500 : 0) } };
  }

  /** A machine whose agents share a function does not hand their names on. */
  const withoutAgent = (task: object): object =>
    "payload" in task ? { ...task, payload: { ...(task.payload as object), agent: undefined } } : task;

  function answerOf(
    state: StateName,
    of: { route: Route; seconds: number; epoch: number; until: boolean },
  ): TaskAnswer {
    const { route, seconds, epoch } = of;
    if (state === "Beat") return { kind: "beat", reply: reply({ route, seconds, epoch }) };
    if (state === "Rescue") return { kind: "rescue", until: of.until ? 1_000 : null };
    return { kind: state === "Park" ? "park" : "renew" };
  }

  function ended(machine: Running, { answer, fails }: { answer: TaskAnswer; fails: Failure }): Running {
    if (fails === "throttled") {
      let running = machine;
      for (let retry = 0; retry <= 100; retry += 1) running = running.end({ error: "Lambda.TooManyRequestsException" });
      return running;
    }
    if (fails !== "no") return machine.end({ error: fails });
    if (answer.kind === "beat") return machine.end(outcomeOf(answer.reply));
    const isWait = answer.kind === "rescue" && answer.until !== null;
    return machine.end({ answer: answer.kind === "rescue" ? { route: isWait ? "wait" : "done", seconds: 1 } : null });
  }

  function moved(chain: Execution, of: { answer: TaskAnswer; fails: Failure; wakes: boolean }): Execution {
    const { answer, fails, wakes } = of;
    if (fails !== "no") return applyFailure(chain, { now: 0, limits: LIMITS, atOnce: false, isDeath: FAILURES[fails] });
    const settled = applyAnswer(chain, { answer, now: 0 });
    return wakes && chain.state === "Park" ? wakeExecution(settled, 0) : settled;
  }

  /** Jitter and whole seconds make it differ by a factor of four, and never above the bound of a pause. */
  function expectNear({ state, waited }: Running, { readyAt, stage }: Execution): void {
    const seconds = (readyAt ?? 0) / 1_000;
    if (state === "Rescue") {
      expect({ waited, stage }).toEqual({ waited: seconds, stage: "waiting" });
      return;
    }
    expect(waited).toBeGreaterThanOrEqual(seconds / 4);
    expect(waited).toBeLessThanOrEqual(Math.min(LIMITS.backoffMsMax / 1_000, Math.max(1, 4 * seconds)));
  }
});

test("the execution of a run that falls asleep is over", () => {
  const asleep = reply({ route: "asleep" });
  expect(outcomeOf(asleep)).toMatchObject({ error: "CairnEnd" });
  expect(startMachine().end(outcomeOf(asleep))).toMatchObject({ state: "End", task: null });
});
