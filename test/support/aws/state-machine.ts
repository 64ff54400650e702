/**
 * A Step Functions machine as far as our definition goes, for tests: one execution, moved by what its tasks come to. It
 * follows the language's own rules, and knows nothing of the chain.
 */
import type {
  MachineDefinition,
  MachineState,
  PassState,
  Retrier,
  ChoiceComparison,
  StateName,
  TaskState,
} from "../../../src/adapters/aws/machine/asl-states.ts";

/** The intrinsic functions of the Amazon States Language that cairn's definition calls, per its specification. */

type Argument = unknown;

interface Calls {
  /** The value of a path in the input or the context object. */
  readonly at: (path: string) => unknown;
  /** 0 <= x < 1. */
  readonly draw: () => number;
}

const FUNCTIONS: Readonly<Record<string, (args: readonly Argument[], calls: Calls) => unknown>> = {
  "States.MathAdd": ([one, other]) => integer(one) + integer(other),
  // The end is exclusive.
  "States.MathRandom": ([start, end], { draw }) => {
    const [least, most] = [integer(start), integer(end)];
    if (least >= most) throw new Error(`there is nothing between ${least} and ${most}`);
    return least + Math.floor(draw() * (most - least));
  },
  // Nothing in our template is escaped.
  "States.Format": ([template, ...values]) => {
    const parts = string(template).split("{}");
    if (parts.length !== values.length + 1) throw new Error(`${values.length} values for ${parts.length - 1} places`);
    return parts.map((part, index) => (index === 0 ? part : `${string(values[index - 1])}${part}`)).join("");
  },
  "States.StringToJson": ([text]) => JSON.parse(string(text)) as unknown,
  "States.Base64Decode": ([text]) => Buffer.from(string(text), "base64").toString(),
  // Each of the characters is a separator, and empty parts are dropped.
  "States.StringSplit": ([text, by]) =>
    [...string(by)]
      .reduce((parts, mark) => parts.flatMap((part) => part.split(mark)), [string(text)])
      .filter((part) => part !== ""),
  "States.ArrayGetItem": ([list, index]) => {
    const found = (list as readonly unknown[])[integer(index)];
    if (found === undefined) throw new Error(`there is no ${integer(index)}. in ${JSON.stringify(list)}`);
    return found;
  },
};

function integer(value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
  throw new Error(`${JSON.stringify(value)} is no integer of 32 bits`);
}

function string(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error(`${JSON.stringify(value)} is no string`);
}

/** A path, or a call whose arguments are paths, numbers, strings in single quotes and calls. */
function evaluated(expression: string, calls: Calls): unknown {
  const [value, rest] = term(expression, calls);
  if (rest !== "") throw new Error(`what does ${rest} mean in ${expression}?`);
  return value;
}

/** The first token of a text, and the rest. */
function term(text: string, calls: Calls): readonly [value: unknown, rest: string] {
  const [path] = /^\$[\w$.]*/.exec(text) ?? [];
  if (path !== undefined) return [calls.at(path), text.slice(path.length)];
  const [quoted, inner = ""] = /^'([^'\\]*)'/.exec(text) ?? [];
  if (quoted !== undefined) return [inner, text.slice(quoted.length)];
  const [number] = /^-?\d+/.exec(text) ?? [];
  if (number !== undefined) return [Number(number), text.slice(number.length)];
  const [opened, name = ""] = /^(States\.\w+)\(/.exec(text) ?? [];
  const called = FUNCTIONS[name];
  if (opened === undefined || called === undefined) throw new Error(`what does ${text} mean?`);
  const args: unknown[] = [];
  let rest = text.slice(opened.length);
  for (;;) {
    const [value, after] = term(rest, calls);
    args.push(value);
    const [closed, mark] = /^\s*([,)])\s*/.exec(after) ?? [];
    if (closed === undefined) throw new Error(`${text} does not end`);
    rest = after.slice(mark === "," ? closed.length : closed.trimEnd().length);
    if (mark === ")") return [called(args, calls), rest];
  }
}

export interface Task {
  readonly state: StateName;
  /** What its function is invoked with. */
  readonly event: unknown;
  /** The name or ARN of that function. */
  readonly called: unknown;
  /** Which of its versions; null: whichever is there. */
  readonly code: unknown;
}

/** `error`: the name by which it failed. */
export type Outcome = { readonly answer: unknown } | { readonly error: string; readonly message?: string };

interface Machine {
  readonly state: StateName;
  /** The task that is out, or null once the execution has ended. */
  readonly task: Task | null;
  /** Seconds that it waited since the last task. */
  readonly waited: number;
}

interface Place {
  readonly definition: MachineDefinition;
  readonly name: string;
  readonly draw: () => number;
  readonly state: StateName;
  readonly input: unknown;
  readonly waited: number;
  /** Of this entry of the state, all retriers together; and of each retrier by its place. */
  readonly retries: number;
  readonly counts: readonly number[];
  readonly tokens: number;
}

export interface Running extends Machine {
  readonly end: (outcome: Outcome) => Running;
}

interface Begun {
  readonly name: string;
  readonly input: unknown;
  /** 0 <= x < 1: what jitter is drawn from. */
  readonly draw?: () => number;
}

export function execution(definition: MachineDefinition, { name, input, draw = () => 0 }: Begun): Running {
  const { StartAt: state } = definition;
  return running({ definition, name, input, draw, state, waited: 0, ...FRESH, tokens: 0 });
}

const FRESH = { retries: 0, counts: [] } as const;

function running(place: Place): Running {
  const state = stateOf(place);
  if (state.Type !== "Task") {
    const next = passed(place, state);
    if (next !== null) return running(next);
    return { state: place.state, task: null, waited: place.waited, end: () => running(place) };
  }
  return {
    state: place.state,
    task: { state: place.state, event: filled(state.Parameters.Payload, place), ...calledBy(place, state) },
    waited: place.waited,
    end: (outcome) => running("error" in outcome ? failed(place, state, outcome) : done(place, state, outcome.answer)),
  };
}

function calledBy(place: Place, { Parameters }: TaskState): Pick<Task, "called" | "code"> {
  const { Payload: _, ...call } = Parameters;
  const { FunctionName: called, Qualifier: code = null } = filled(call, place) as Record<string, unknown>;
  return { called, code };
}

function stateOf({ definition, state }: Place): MachineState {
  const found = definition.States[state];
  if (found === undefined) throw new Error(`there is no state ${state}`);
  return found;
}

const entered = (place: Place, state: StateName, waited: number): Place => ({ ...place, ...FRESH, state, waited });

/** Through a state that calls nobody; null is the end. */
function passed(place: Place, state: Exclude<MachineState, TaskState>): Place | null {
  if (state.Type === "Succeed") return null;
  if (state.Type === "Choice") {
    const isThere = (path: string): boolean => at(place.input, path) !== undefined;
    const chosen = state.Choices.find(
      ({ And: [asked, comparison] }) =>
        isThere(asked.Variable) && holds(comparison, at(place.input, comparison.Variable)),
    );
    return entered(place, chosen?.Next ?? state.Default, place.waited);
  }
  if (state.Type === "Pass") {
    return { ...entered(place, state.Next, place.waited), input: transformed(place, state) };
  }
  const seconds = "Seconds" in state ? state.Seconds : Number(at(place.input, state.SecondsPath));
  return entered(place, state.Next, place.waited + seconds);
}

/** A comparison with what has another type does not hold; one with what is not there ends the execution. */
function holds(rule: ChoiceComparison, value: unknown): boolean {
  if (value === undefined) throw new Error("States.Runtime: the path of a choice does not exist");
  if ("StringEquals" in rule) return value === rule.StringEquals;
  if (typeof value !== "number") return false;
  return "NumericGreaterThan" in rule ? value > rule.NumericGreaterThan : value >= rule.NumericGreaterThanEquals;
}

function transformed(place: Place, state: PassState): unknown {
  if ("Result" in state) return placed(place.input, state.ResultPath, state.Result);
  const output = filled(state.Parameters, place);
  return state.OutputPath === undefined ? output : at(output, state.OutputPath);
}

function done(place: Place, state: TaskState, answer: unknown): Place {
  // A task that waits for its token gets what the token is answered with; the others the envelope of the invocation.
  const result = { Payload: answer };
  const selected =
    state.ResultSelector === undefined ? result : filled(state.ResultSelector, { ...place, input: result });
  const output = placed(place.input, state.ResultPath, selected);
  const input = state.OutputPath === undefined ? output : at(output, state.OutputPath);
  return { ...entered(place, state.Next, 0), input, tokens: place.tokens + 1 };
}

function placed(input: unknown, path: string | null | undefined, result: unknown): unknown {
  if (path === null) return input;
  if (path === undefined || path === "$") return result;
  return { ...(input as object), [path.slice(2)]: result };
}

/** The first retrier that names the error decides; once it is used up, the first catcher that names it. */
function failed(
  place: Place,
  state: TaskState,
  { error, message = "" }: Extract<Outcome, { readonly error: string }>,
): Place {
  const index = state.Retry.findIndex((retrier) => matches(retrier, error));
  const used = place.counts[index] ?? 0;
  if (index >= 0 && used < (state.Retry[index]?.MaxAttempts ?? 0)) {
    const counts = state.Retry.map((_, at) => (place.counts[at] ?? 0) + (at === index ? 1 : 0));
    return { ...place, counts, retries: place.retries + 1, waited: 0, tokens: place.tokens + 1 };
  }
  const catcher = state.Catch.find((each) => matches(each, error));
  if (catcher === undefined) throw new Error(`${place.state} fails the execution with ${error}`);
  // As the runtime of Lambda says it.
  const Cause = JSON.stringify({ errorType: error, errorMessage: message, trace: [] });
  const input = placed(place.input, catcher.ResultPath, { Error: error, Cause });
  return { ...entered(place, catcher.Next, 0), input, tokens: place.tokens + 1 };
}

/** Whole names, and the two that stand for many. */
const matches = ({ ErrorEquals }: Pick<Retrier, "ErrorEquals">, error: string): boolean =>
  ErrorEquals.some(
    (name) => name === error || name === "States.ALL" || (name === "States.TaskFailed" && error !== "States.Timeout"),
  );

function filled(template: unknown, place: Place): unknown {
  if (typeof template !== "object" || template === null) return template;
  const fields = Object.entries(template).map(([key, value]) => {
    if (!key.endsWith(".$")) return [key, filled(value, place)] as const;
    const find = (path: string) =>
      path.startsWith("$$.") ? at(contextOf(place), path.slice(1)) : at(place.input, path);
    return [key.slice(0, -2), evaluated(String(value), { at: find, draw: place.draw })] as const;
  });
  return Object.fromEntries(fields);
}

const contextOf = ({ name, retries, tokens }: Place) => ({
  Execution: { Name: name },
  State: { RetryCount: retries },
  Task: { Token: `token-${tokens}` },
});

function at(value: unknown, path: string): unknown {
  const found = path
    .split(".")
    .slice(1)
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
  if (found === undefined) throw new Error(`there is no ${path} in ${JSON.stringify(value)}`);
  return found;
}
