/**
 * The definition of the machine: what AWS would refuse, how errors are caught, and how long an execution may last. How it
 * moves is in `machine.test.ts`.
 */
import validate from "asl-validator";
import { describe, expect, test } from "vitest";
import { TASK_MARGIN_SECONDS } from "../../src/adapters/aws/machine/asl.ts";
import type {
  MachineDefinition,
  MachineState,
  StateName,
  TaskState,
} from "../../src/adapters/aws/machine/asl-states.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { StoreUnreachable } from "../../src/ports/world.ts";
import { AFTER_BEAT, RETRY_DELAYS_MS } from "../../src/protocol/chain.ts";
import { WriteUnresolved } from "../../src/history/resolve-ambiguous-write.ts";
import * as at from "../support/aws/state-machine-start.ts";

const { DEFINITIONS, ROUTES, outcomeOf, reply, tokenOf, endWithReply } = at;

/** Every name by which a state says which error it means. */
const errorNames = (from: MachineDefinition): readonly string[] =>
  Object.values(from.States).flatMap((state) =>
    state.Type === "Task" ? [...state.Retry, ...state.Catch].flatMap(({ ErrorEquals }) => ErrorEquals) : [],
  );

describe.each(["isolated", "shared"] as const)("the definition with %s agents", (which) => {
  const definition = DEFINITIONS[which];
  const begin = () => at.startMachine({ from: definition });
  // Only where the machine calls functions by agents it hands the agent on.
  const { agent, ...named } = at.PAYLOAD;
  const PAYLOAD = which === "isolated" ? { ...named, agent } : named;
  const states = Object.entries(definition.States) as readonly (readonly [StateName, MachineState])[];
  const tasks = states.filter((each): each is readonly [StateName, TaskState] => each[1].Type === "Task");
  const isBeat = (name: StateName): boolean => name === "Beat" || name === "Shared";

  test("is accepted by asl-validator, which refuses a missing state", () => {
    expect(validate(definition).errorsText()).toBe("");
    expect(validate({ ...definition, StartAt: "Nowhere" }).isValid).toBe(false);
    const { End: _, ...States } = definition.States;
    expect(validate({ ...definition, States }).isValid).toBe(false);
  });

  test("names errors in full: a pattern such as `Lambda.*` matches nothing on AWS", () => {
    expect(new Set(errorNames(definition))).toContain("Lambda.TooManyRequestsException");
    const ours = [
      "CairnEnd",
      "CairnWait",
      "CairnPark",
      "CairnRenew",
      "StoreUnreachable",
      "Undecided",
      "IntrinsicChanged",
    ];
    for (const name of errorNames(definition)) {
      if (!ours.includes(name)) expect(name).toMatch(/^(States|Lambda)\.[A-Za-z0-9]+$/);
    }
    expect(new Set(errorNames(definition))).toEqual(new Set([...errorNames(definition), ...ours]));
  });

  test("names errors like the code that throws them", () => {
    const thrown = [new StoreUnreachable("away"), new WriteUnresolved("unknown")].map(({ name }) => name);
    for (const name of thrown) expect(errorNames(definition)).toContain(name);
    const routes = ROUTES.flatMap((route) => {
      const outcome = outcomeOf(reply({ route }));
      return "error" in outcome ? [outcome.error] : [];
    });
    for (const name of routes) expect(errorNames(definition)).toContain(name);
    expect(new Set(routes).size).toBe(4);
  });

  test("retries throttling often by name, and other errors like the chain, and then starts a rescue", () => {
    for (const [name, { Retry, Catch }] of tasks) {
      const [throttled, again] = isBeat(name) ? Retry : Retry.slice(-2);
      expect(throttled, name).toMatchObject({ MaxAttempts: 100, MaxDelaySeconds: 60, JitterStrategy: "FULL" });
      if (isBeat(name)) continue;
      expect(again, name).toMatchObject({ ErrorEquals: ["States.ALL"], MaxAttempts: RETRY_DELAYS_MS.length });
      expect(Catch.at(-1), name).toEqual({ ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Backoff" });
    }
  });

  test("approximates the delays of the chain with one rate and whole first seconds", () => {
    const [, sweep] = tasks.find(([name]) => name === "Rescue") ?? [];
    const { IntervalSeconds = 0, BackoffRate = 0 } = sweep?.Retry.at(-1) ?? {};
    const delays = RETRY_DELAYS_MS.map((_, retry) => IntervalSeconds * BackoffRate ** retry * 1_000);
    for (const [retry, ms] of delays.entries())
      expect(Math.abs(ms - (RETRY_DELAYS_MS[retry] ?? 0))).toBeLessThanOrEqual(1_000);
  });

  test("checks that each value of a choice is present before it compares it", () => {
    const choices = states.flatMap(([, state]) => (state.Type === "Choice" ? state.Choices : []));
    expect(choices).toHaveLength(3);
    for (const {
      And: [asked, comparison],
    } of choices) {
      expect(asked).toEqual({ Variable: comparison.Variable, IsPresent: true });
    }
  });

  test("ends no task before its function ends", () => {
    expect(definition.States.Beat).toMatchObject({ TimeoutSeconds: 60 + TASK_MARGIN_SECONDS });
    expect(definition.States.Renew).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(definition.States.Rescue).toMatchObject({ TimeoutSeconds: 120 + TASK_MARGIN_SECONDS });
    expect(TASK_MARGIN_SECONDS).toBeGreaterThanOrEqual(30);
  });

  test.each(ROUTES)("continues from the route %s with the values of the beat", (route) => {
    const after = endWithReply(begin(), { route, seconds: 7, epoch: 3, chain: 2 });
    const expected = AFTER_BEAT[route] === "Wait" ? "Beat" : AFTER_BEAT[route];
    expect(after.state).toBe(expected);
    expect(after.waited).toBe(AFTER_BEAT[route] === "Wait" ? 7 : 0);
    if (expected === "End") return;
    expect(after.task?.event).toMatchObject({ payload: { ...PAYLOAD, epoch: 3, chain: 2 } });
  });

  test("needs one transition for each beat that leads to another beat", () => {
    expect(definition.States.Beat).toMatchObject({ Next: "Beat" });
    expect(endWithReply(begin(), { route: "beat", epoch: 1 }).task?.event).toEqual({
      kind: "beat",
      payload: { ...PAYLOAD, epoch: 1 },
      attempt: { execution: "local-abc-b1-1", epoch: 1, retry: 0, died: null, changed: null },
    });
  });

  test("parks once until its token is answered or its time is over, and drops the answer", () => {
    const parked = endWithReply(begin(), { route: "park", seconds: 9, epoch: 4 });
    expect(parked.task?.event).toMatchObject({ kind: "park", payload: { epoch: 4 }, attempt: { epoch: 4, retry: 0 } });
    const next = { kind: "beat", payload: { ...PAYLOAD, epoch: 4 }, attempt: { epoch: 4, retry: 0, died: null } };
    expect(parked.end({ answer: "woken" }).task?.event).toMatchObject(next);
    expect(parked.end({ error: "States.Timeout" }).task?.event).toMatchObject(next);
    expect(definition.States.Park).toMatchObject({ TimeoutSecondsPath: "$.seconds", ResultPath: null });
  });

  test("creates another token for each attempt to park", () => {
    const first = endWithReply(begin(), { route: "park" });
    const second = first.end({ error: "Sandbox.Timedout" });
    expect(second.task?.event).toMatchObject({ kind: "park", attempt: { retry: 1 } });
    expect(tokenOf(second)).not.toBe(tokenOf(first));
  });
});

/** Room for retries that Step Functions makes by itself. The way over two functions is longer, and rare: see ADR 49. */
const HEADROOM = { shared: 5_000, isolated: 1_000 } as const;

test.each(["isolated", "shared"] as const)(
  "1,200 claims of the longest path fit into the history of one execution with %s agents",
  (which) => {
    const { chainClaimsMax, entryAttemptsMax } = limitsFor(60_000);
    expect(chainClaimsMax).toBe(1_200);
    const longest = longestRound(DEFINITIONS[which], "Beat", []);
    // An attempt that Step Functions repeats by itself costs less than a whole round, if it claimed. One that Lambda turned
    // away claims nothing, and what is left is room for those. Beyond it the execution fails, and the sweeper hands its run
    // over.
    expect(ATTEMPT_EVENTS).toBeLessThan(longest);
    const worst = 1 + chainClaimsMax * longest + entryAttemptsMax * longest + tailEvents();
    expect(worst).toBeGreaterThan(15_000);
    expect(25_000 - worst).toBeGreaterThan(HEADROOM[which]);
  },
);

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

function stateOf({ States }: MachineDefinition, name: StateName): MachineState {
  const found = States[name];
  if (found === undefined) throw new Error(`there is no state ${name}`);
  return found;
}

/** Events from entering that state to entering Beat again, over the way with the most of them. */
function longestRound(from: MachineDefinition, name: StateName, way: readonly StateName[]): number {
  const state = stateOf(from, name);
  const ways = nextOf(state)
    .filter((next) => next === "Beat" || ![...way, name].includes(next))
    .map((next) => (next === "Beat" ? 0 : longestRound(from, next, [...way, name])))
    .filter((events) => events > -Infinity);
  return ways.length > 0 ? eventsOf(state) + Math.max(...ways) : -Infinity;
}

/** The rescue of an entry that failed as often as it may, whose own attempts fail as often. */
function tailEvents(): number {
  const retries = RETRY_DELAYS_MS.length * ATTEMPT_EVENTS;
  const rescue = (["Backoff", "Rescue", "Rescued", "End"] as const).map((name) =>
    eventsOf(stateOf(DEFINITIONS.shared, name)),
  );
  return rescue.reduce((sum, each) => sum + each, 0) + retries;
}
