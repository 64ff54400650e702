/**
 * The machine against the chain that it is made from. `execution.ts` is the same chain for the worlds that drive their
 * executions themselves: whatever tasks come to, both send the same tasks.
 */
import validate from "asl-validator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type MachineState,
  type StateName,
  type TaskState,
  TASK_MARGIN_SECONDS,
  definitionOf,
} from "../../infra/asl.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { AFTER_BEAT, RETRY_DELAYS_MS, type Route } from "../../src/protocol/chain.ts";
import {
  type Answer,
  type Execution,
  answered,
  begun,
  failed,
  started,
  taskOf,
  woken,
} from "../../src/protocol/execution.ts";
import { type Running, execution } from "../support/machine.ts";

const definition = definitionOf({
  functions: { beat: "cairn-beat", park: "cairn-park", sweep: "cairn-sweep" },
  ...{ beatSeconds: 60, sweepSeconds: 120, rescueSeconds: 60 },
});
const states = Object.entries(definition.States) as readonly (readonly [StateName, MachineState])[];
const tasks = states.filter((each): each is readonly [StateName, TaskState] => each[1].Type === "Task");
const ROUTES = Object.keys(AFTER_BEAT) as readonly Route[];
const INPUT = { run: "local-abc", born: "b1", chain: 1, epoch: 0 };

const reply = (of: { route: Route; seconds?: number; epoch?: number; chain?: number }) => ({
  ...INPUT,
  seconds: 1,
  ...of,
});
const begin = (): Running => execution(definition, { name: "local-abc-b1-1", input: INPUT });

const tokenOf = ({ task }: Running): unknown => (task?.event as { readonly token?: string } | undefined)?.token;

/** Every name by which a state says which error it means. */
const errorNames = (from: typeof definition): readonly string[] =>
  Object.values(from.States).flatMap((state) =>
    state.Type === "Task" ? [...state.Retry, ...state.Catch].flatMap(({ ErrorEquals }) => ErrorEquals) : [],
  );

describe("the definition", () => {
  test("is accepted by asl-validator, which refuses a state that is not there", () => {
    expect(validate(definition).errorsText()).toBe("");
    expect(validate({ ...definition, StartAt: "Nowhere" }).isValid).toBe(false);
    const { End: _, ...States } = definition.States;
    expect(validate({ ...definition, States }).isValid).toBe(false);
  });

  test("names errors whole: a pattern such as `Lambda.*` matches nothing on AWS", () => {
    expect(new Set(errorNames(definition))).toContain("Lambda.TooManyRequestsException");
    for (const name of errorNames(definition)) expect(name).toMatch(/^(States|Lambda)\.[A-Za-z0-9]+$/);
  });

  test("retries throttling by name often, all else as the chain does, and then leads to a rescue", () => {
    for (const [name, { Retry, Catch }] of tasks) {
      const [throttled, again] = Retry.slice(-2);
      expect(throttled, name).toMatchObject({ MaxAttempts: 100, MaxDelaySeconds: 60, JitterStrategy: "FULL" });
      expect(again, name).toMatchObject({ ErrorEquals: ["States.ALL"], MaxAttempts: RETRY_DELAYS_MS.length });
      expect(Catch.at(-1), name).toEqual({ ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Backoff" });
    }
  });

  test("comes as near to the chain's delays as one rate and whole first seconds can", () => {
    const [, beat] = tasks.find(([name]) => name === "Beat") ?? [];
    const { IntervalSeconds = 0, BackoffRate = 0 } = beat?.Retry.at(-1) ?? {};
    const delays = RETRY_DELAYS_MS.map((_, retry) => IntervalSeconds * BackoffRate ** retry * 1_000);
    for (const [retry, ms] of delays.entries())
      expect(Math.abs(ms - (RETRY_DELAYS_MS[retry] ?? 0))).toBeLessThanOrEqual(1_000);
  });

  test("lets no task end before its function does", () => {
    expect(definition.States.Beat).toMatchObject({ TimeoutSeconds: 60 + TASK_MARGIN_SECONDS });
    expect(definition.States.Renew).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(definition.States.Rescue).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(TASK_MARGIN_SECONDS).toBeGreaterThanOrEqual(30);
  });

  test.each(ROUTES)("leads on from the route %s", (route) => {
    const after = begin().end({ answer: reply({ route, seconds: 7 }) });
    const expected = AFTER_BEAT[route] === "Wait" ? "Beat" : AFTER_BEAT[route];
    expect(after.state).toBe(expected);
    expect(after.waited).toBe(AFTER_BEAT[route] === "Wait" ? 7 : 0);
  });

  test("rescues a run whose beat answers what it does not know", () => {
    const after = begin().end({ answer: { ...reply({ route: "beat" }), route: "sideways" } });
    expect(after).toMatchObject({ state: "Rescue", waited: 60 });
  });

  test("parks until its token is answered or its time is over, once, and drops the answer", () => {
    const parked = begin().end({ answer: reply({ route: "park", seconds: 9, epoch: 4 }) });
    expect(parked.task?.event).toMatchObject({ kind: "park", payload: { epoch: 4 }, attempt: { epoch: 4, retry: 0 } });
    const next = { kind: "beat", payload: { ...INPUT, epoch: 4 }, attempt: { epoch: 4, retry: 0 } };
    expect(parked.end({ answer: "woken" }).task?.event).toMatchObject(next);
    expect(parked.end({ error: "States.Timeout" }).task?.event).toMatchObject(next);
    expect(definition.States.Park).toMatchObject({ TimeoutSecondsPath: "$.seconds", ResultPath: null });
  });

  test("mints another token for each attempt to park", () => {
    const first = begin().end({ answer: reply({ route: "park" }) });
    const second = first.end({ error: "Sandbox.Timedout" });
    expect(second.task?.event).toMatchObject({ kind: "park", attempt: { retry: 1 } });
    expect(tokenOf(second)).not.toBe(tokenOf(first));
  });
});

test("1,200 claims of the longest way round fit into the history of one execution", () => {
  const { chainClaimsMax } = limitsFor(60_000);
  expect(chainClaimsMax).toBe(1_200);
  // An attempt that claims and dies costs less than a whole round; one that Lambda turned away claims nothing, and what
  // is left is room for thousands of those. Beyond it the execution fails, and the sweeper hands its run over.
  expect(ATTEMPT_EVENTS).toBeLessThan(longestRound("Beat", []));
  const worst = 1 + chainClaimsMax * longestRound("Beat", []) + tailEvents();
  expect(worst).toBeGreaterThan(12_000);
  expect(25_000 - worst).toBeGreaterThan(5_000);
});

/** Scheduled, started, and failed or succeeded. */
const ATTEMPT_EVENTS = 3;
const BESIDES: Readonly<Record<MachineState["Type"], number>> = { Task: 2, Choice: 2, Wait: 2, Succeed: 2 };

function eventsOf(state: MachineState): number {
  if (state.Type !== "Task") return BESIDES[state.Type];
  const submitted = state.Resource.endsWith(".waitForTaskToken") ? 1 : 0;
  return BESIDES.Task + ATTEMPT_EVENTS + submitted;
}

function nextOf(state: MachineState): readonly StateName[] {
  if (state.Type === "Succeed") return [];
  if (state.Type === "Choice") return [...state.Choices.map(({ Next }) => Next), state.Default];
  return [state.Next];
}

/** Events from entering that state to entering Beat again, over the way with the most of them. */
function longestRound(name: StateName, way: readonly StateName[]): number {
  const state = definition.States[name];
  const ways = nextOf(state)
    .filter((next) => next === "Beat" || !way.includes(next))
    .map((next) => (next === "Beat" ? 0 : longestRound(next, [...way, name])))
    .filter((events) => events > -Infinity);
  const reaches = nextOf(state).includes("Beat") || ways.length > 0;
  return reaches ? eventsOf(state) + Math.max(...ways) : -Infinity;
}

/** A beat whose attempts all die, and the rescue that follows. */
function tailEvents(): number {
  const retries = RETRY_DELAYS_MS.length * ATTEMPT_EVENTS;
  const rescue = (["Backoff", "Rescue", "Rescued", "End"] as const).map((name) => eventsOf(definition.States[name]));
  return eventsOf(definition.States.Beat) + retries + rescue.reduce((sum, each) => sum + each, 0) + retries;
}

describe("the same chain as the one that the other worlds run", () => {
  const outcomes = fc.array(
    fc.record({
      route: fc.constantFrom(...ROUTES),
      seconds: fc.integer({ min: 1, max: 60 }),
      epoch: fc.nat(99),
      fails: fc.constantFrom("no", "no", "Runtime.ExitError", "Sandbox.Timedout", "Error"),
      until: fc.boolean(),
      wakes: fc.boolean(),
    }),
    { maxLength: 60 },
  );

  test("whatever its tasks come to, it sends the same ones", () => {
    fc.assert(
      fc.property(outcomes, (steps) => {
        let machine = begin();
        let chain: Execution = begun(started({ name: "local-abc-b1-1", payload: INPUT, now: 0 }), "token-0");
        for (const { route, seconds, epoch, fails, until, wakes } of steps) {
          expect(machine.task === null).toBe(chain.stage === "ended");
          if (machine.task === null) return;
          expect({ ...(machine.task.event as object), token: null }).toEqual({ ...taskOf(chain), token: null });
          expect(machine.state).toBe(chain.state);
          const isOver = machine.state === "Park" && !wakes;
          const error = isOver && fails === "no" ? "States.Timeout" : fails;
          const answer = answerOf(machine.state, { route, seconds, epoch, until });
          machine = machine.end(error === "no" ? { answer: seenOf(answer) } : { error });
          chain = moved(chain, { answer, fails: fails !== "no", wakes });
        }
      }),
      { numRuns: 500 },
    );
  });

  function answerOf(state: StateName, of: { route: Route; seconds: number; epoch: number; until: boolean }): Answer {
    const { route, seconds, epoch } = of;
    if (state === "Beat") return { kind: "beat", reply: { ...INPUT, route, seconds, epoch } };
    if (state === "Rescue") return { kind: "rescue", until: of.until ? 1_000 : null };
    return { kind: state === "Park" ? "park" : "renew" };
  }

  /** What the function behind a task answers the machine. */
  function seenOf(answer: Answer): unknown {
    if (answer.kind === "beat") return answer.reply;
    return answer.kind === "rescue" ? { route: answer.until === null ? "done" : "wait", seconds: 1 } : null;
  }

  function moved(chain: Execution, of: { answer: Answer; fails: boolean; wakes: boolean }): Execution {
    const settled = of.fails
      ? failed(chain, {
          now: 0,
          limits: { rescueMs: 60_000, entryAttemptsMax: 100, backoffMsMax: 300_000 },
          atOnce: false,
          isDeath: true,
        })
      : answered(chain, { answer: of.answer, now: 0 });
    const next = of.wakes && chain.state === "Park" && !of.fails ? woken(settled, 0) : settled;
    return next.stage === "ended" ? next : begun(next, "token");
  }
});
