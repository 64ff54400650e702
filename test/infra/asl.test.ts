/**
 * The definition of the state machine: its validity on AWS, error handling, and the length of an execution. Its
 * behaviour is tested in `machine.test.ts`.
 */
import validate from "asl-validator";
import { describe, expect, test } from "vitest";
import { TASK_MARGIN_SECONDS } from "../../infra/asl.ts";
import type { MachineState, StateName, TaskState } from "../../infra/asl-states.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { AFTER_BEAT, RETRY_DELAYS_MS } from "../../src/protocol/chain.ts";
import { Undecided } from "../../src/history/resolve-ambiguous-write.ts";
import { PAYLOAD, ROUTES, begin, definition, outcomeOf, reply, tokenOf, went } from "../support/machine-begun.ts";

const states = Object.entries(definition.States) as readonly (readonly [StateName, MachineState])[];
const tasks = states.filter((each): each is readonly [StateName, TaskState] => each[1].Type === "Task");
/** All error names in the definition. */
const errorNames = (from: typeof definition): readonly string[] =>
  Object.values(from.States).flatMap((state) =>
    state.Type === "Task" ? [...state.Retry, ...state.Catch].flatMap(({ ErrorEquals }) => ErrorEquals) : [],
  );

describe("the definition", () => {
  test("is accepted by asl-validator, which refuses missing states", () => {
    expect(validate(definition).errorsText()).toBe("");
    expect(validate({ ...definition, StartAt: "Nowhere" }).isValid).toBe(false);
    const { End: _, ...States } = definition.States;
    expect(validate({ ...definition, States }).isValid).toBe(false);
  });

  test("names errors in full, because a pattern such as `Lambda.*` matches nothing on AWS", () => {
    expect(new Set(errorNames(definition))).toContain("Lambda.TooManyRequestsException");
    const ours = ["CairnEnd", "CairnWait", "CairnPark", "CairnRenew", "StoreUnreachable", "Undecided"];
    for (const name of errorNames(definition)) {
      if (!ours.includes(name)) expect(name).toMatch(/^(States|Lambda)\.[A-Za-z0-9]+$/);
    }
    expect(new Set(errorNames(definition))).toEqual(new Set([...errorNames(definition), ...ours]));
  });

  test("names errors like the code that throws them", () => {
    const thrown = [new StoreUnreachable("away"), new Undecided("unknown")].map(({ name }) => name);
    for (const name of thrown) expect(errorNames(definition)).toContain(name);
    const routes = ROUTES.flatMap((route) => {
      const outcome = outcomeOf(reply({ route }));
      return "error" in outcome ? [outcome.error] : [];
    });
    for (const name of routes) expect(errorNames(definition)).toContain(name);
    expect(new Set(routes).size).toBe(4);
  });

  test("retries throttling often and other errors like the chain, and then leads to a rescue", () => {
    for (const [name, { Retry, Catch }] of tasks) {
      const [throttled, again] = name === "Beat" ? Retry : Retry.slice(-2);
      expect(throttled, name).toMatchObject({ MaxAttempts: 100, MaxDelaySeconds: 60, JitterStrategy: "FULL" });
      if (name === "Beat") continue;
      expect(again, name).toMatchObject({ ErrorEquals: ["States.ALL"], MaxAttempts: RETRY_DELAYS_MS.length });
      expect(Catch.at(-1), name).toEqual({ ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Backoff" });
    }
  });

  test("approximates the chain's delays as closely as one rate and whole first seconds can", () => {
    const [, sweep] = tasks.find(([name]) => name === "Rescue") ?? [];
    const { IntervalSeconds = 0, BackoffRate = 0 } = sweep?.Retry.at(-1) ?? {};
    const delays = RETRY_DELAYS_MS.map((_, retry) => IntervalSeconds * BackoffRate ** retry * 1_000);
    for (const [retry, ms] of delays.entries())
      expect(Math.abs(ms - (RETRY_DELAYS_MS[retry] ?? 0))).toBeLessThanOrEqual(1_000);
  });

  test("checks that a value exists before a choice compares it", () => {
    const choices = states.flatMap(([, state]) => (state.Type === "Choice" ? state.Choices : []));
    expect(choices).toHaveLength(3);
    for (const {
      And: [asked, comparison],
    } of choices) {
      expect(asked).toEqual({ Variable: comparison.Variable, IsPresent: true });
    }
  });

  test("gives every task at least the timeout of its function", () => {
    expect(definition.States.Beat).toMatchObject({ TimeoutSeconds: 60 + TASK_MARGIN_SECONDS });
    expect(definition.States.Renew).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(definition.States.Rescue).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(TASK_MARGIN_SECONDS).toBeGreaterThanOrEqual(30);
  });

  test.each(ROUTES)("continues from the route %s with the reply of the beat", (route) => {
    const after = went(begin(), { route, seconds: 7, epoch: 3, chain: 2 });
    const expected = AFTER_BEAT[route] === "Wait" ? "Beat" : AFTER_BEAT[route];
    expect(after.state).toBe(expected);
    expect(after.waited).toBe(AFTER_BEAT[route] === "Wait" ? 7 : 0);
    if (expected === "End") return;
    expect(after.task?.event).toMatchObject({ payload: { ...PAYLOAD, epoch: 3, chain: 2 } });
  });

  test("needs one transition per beat that leads to the next beat", () => {
    expect(definition.States.Beat).toMatchObject({ Next: "Beat" });
    expect(went(begin(), { route: "beat", epoch: 1 }).task?.event).toEqual({
      kind: "beat",
      payload: { ...PAYLOAD, epoch: 1 },
      attempt: { execution: "local-abc-b1-1", epoch: 1, retry: 0, died: null },
    });
  });

  test("parks once until its token is answered or expires, and drops the answer", () => {
    const parked = went(begin(), { route: "park", seconds: 9, epoch: 4 });
    expect(parked.task?.event).toMatchObject({ kind: "park", payload: { epoch: 4 }, attempt: { epoch: 4, retry: 0 } });
    const next = { kind: "beat", payload: { ...PAYLOAD, epoch: 4 }, attempt: { epoch: 4, retry: 0, died: null } };
    expect(parked.end({ answer: "woken" }).task?.event).toMatchObject(next);
    expect(parked.end({ error: "States.Timeout" }).task?.event).toMatchObject(next);
    expect(definition.States.Park).toMatchObject({ TimeoutSecondsPath: "$.seconds", ResultPath: null });
  });

  test("creates a new token for each attempt to park", () => {
    const first = went(begin(), { route: "park" });
    const second = first.end({ error: "Sandbox.Timedout" });
    expect(second.task?.event).toMatchObject({ kind: "park", attempt: { retry: 1 } });
    expect(tokenOf(second)).not.toBe(tokenOf(first));
  });
});

test("fits 1,200 claims of the longest loop into the history of one execution", () => {
  const { chainClaimsMax, entryAttemptsMax } = limitsFor(60_000);
  expect(chainClaimsMax).toBe(1_200);
  const longest = longestRound("Beat", []);
  // An attempt that Step Functions retries itself costs less than a whole loop, if it claimed. An attempt that Lambda
  // throttled claims nothing, and there is room for thousands of those. Beyond that the execution fails, and the
  // sweeper hands its run over.
  expect(ATTEMPT_EVENTS).toBeLessThan(longest);
  const worst = 1 + chainClaimsMax * longest + entryAttemptsMax * longest + tailEvents();
  expect(worst).toBeGreaterThan(15_000);
  expect(25_000 - worst).toBeGreaterThan(5_000);
});

/** Scheduled, started, and failed or succeeded. */
const ATTEMPT_EVENTS = 3;
const BESIDES: Readonly<Record<MachineState["Type"], number>> = { Task: 2, Pass: 2, Choice: 2, Wait: 2, Succeed: 2 };

function eventsOf(state: MachineState): number {
  if (state.Type !== "Task") return BESIDES[state.Type];
  const submitted = state.Resource.endsWith(".waitForTaskToken") ? 1 : 0;
  return BESIDES.Task + ATTEMPT_EVENTS + submitted;
}

function nextOf(state: MachineState): readonly StateName[] {
  if (state.Type === "Succeed") return [];
  if (state.Type === "Choice") return [...state.Choices.map(({ Next }) => Next), state.Default];
  return state.Type === "Task" ? [state.Next, ...state.Catch.map(({ Next }) => Next)] : [state.Next];
}

/** History events from that state to the next entry of Beat, on the longest path. */
function longestRound(name: StateName, way: readonly StateName[]): number {
  const state = definition.States[name];
  const ways = nextOf(state)
    .filter((next) => next === "Beat" || ![...way, name].includes(next))
    .map((next) => (next === "Beat" ? 0 : longestRound(next, [...way, name])))
    .filter((events) => events > -Infinity);
  return ways.length > 0 ? eventsOf(state) + Math.max(...ways) : -Infinity;
}

/** The rescue of an entry that used all attempts, where the rescue uses all its attempts, too. */
function tailEvents(): number {
  const retries = RETRY_DELAYS_MS.length * ATTEMPT_EVENTS;
  const rescue = (["Backoff", "Rescue", "Rescued", "End"] as const).map((name) => eventsOf(definition.States[name]));
  return rescue.reduce((sum, each) => sum + each, 0) + retries;
}
