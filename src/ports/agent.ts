/**
 * An agent as the engine knows it: plain types of what `defineAgent` (`src/sdk`) checks and returns. They lie below the
 * engine, so that the engine runs an agent without importing what users import.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type * as z from "zod";
import type { Budget, Spent } from "../core/policy/budget.ts";
import type { Dial } from "../core/policy/dial.ts";
import type { Effect } from "../core/calls/effects.ts";
import type { OnUnknown } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { CallOutcome } from "../core/message.ts";
import type { Price } from "../core/policy/price.ts";
import type { Retention } from "../core/policy/retention.ts";
import type { UpgradePolicy } from "../core/state.ts";
import type { Topology } from "../core/topologies/react.ts";

export interface Agent<Task extends z.ZodType = z.ZodType> extends Priced, OutagePolicy {
  readonly name: string;
  readonly version: string;
  readonly model: ModelChoice;
  readonly instructions: string;
  readonly task: Task;
  readonly tools: Readonly<Record<string, Tool>>;
  /** The run may not complete before all of these hold. */
  readonly done: readonly Check<z.output<Task>>[];
  /** What the run results in. */
  result(view: RunView<z.output<Task>>): Json;
  readonly topology: Topology;
  readonly upgrade: UpgradePolicy;
  readonly budget: Budget;
  /** Whether a run that goes in circles is stopped. */
  readonly loops: LoopPolicy;
  readonly dial: Dial;
  /** How long its model may be waited for before the run is given up, milliseconds; null: as long as a call may take. */
  readonly hardIdleMs: number | null;
  /** Tokens of a question from 80 % of which on its context is made shorter; null: when the provider calls it too long. */
  readonly contextTokensMax: number | null;
  /** When it is started by itself, or null. */
  readonly schedule: Schedule | null;
  /** Null: the world's default, and no archive. */
  readonly retention: Retention | null;
  /** What follows when a run has failed and things that it did stand. */
  readonly saga: Saga;
  /** Names. */
  readonly secrets: readonly string[];
}

export interface Tool<Schema extends z.ZodType = z.ZodType> extends ToolRules<z.output<Schema>> {
  readonly description: string;
  readonly input: Schema;
  /** What it returns; a result is kept as this parses it. Null: any JSON. */
  readonly output: z.ZodType | null;
  readonly effect: Effect;
  readonly run: (context: ToolContext<z.output<Schema>>) => unknown;
  /** Asks the other side what became of the call of that key. A `probed` tool has one, no other does. */
  readonly probe: ((context: ProbeContext<z.output<Schema>>) => Probe | Promise<Probe>) | null;
  /** Whether a person is asked before a call is started: a policy says why, or false. */
  readonly approval: "never" | "always" | ((input: z.output<Schema>) => string | false);
  /** Milliseconds; null takes the world's default. */
  readonly timeoutMs: number | null;
  /** How long after its caller's lease a request may still take effect; null takes the world's default. */
  readonly settleMs: number | null;
  /** The other side's name for what was done, for the ledger. */
  readonly externalId: ((result: Json) => string | null) | null;
}

/** Failed calls that are tried again, with the same key, before the model hears of them. Not for unsafe tools. */
export interface Retry {
  /** Tries in all, the first one and those without an answer included: 1 to 3. */
  readonly attempts: number;
  /** Whether another try may help; without it, after every error. It is never a promise. */
  readonly when?: (error: unknown) => boolean;
  /** Milliseconds before the second try, and twice as many before the third; 0 unless told, 10,000 at most. */
  readonly backoffMs?: number;
}

export interface ToolRules<Input> {
  /**
   * A business key, such as `trip_42_charge_v1`, instead of the one that derives from the intent: 1 to 128 printable
   * ASCII characters without spaces. It names what is to be done, so within a run it belongs to one tool and one set of
   * arguments. `attempt` is raised by a restart from scratch.
   */
  readonly key: ((input: Input, of: { readonly attempt: number }) => string) | null;
  /**
   * Reads an error of the other side: what the call came to, where it says that something exists already under our key;
   * null for every other error, and never a promise. For keyed and probed tools.
   */
  readonly onExists: ((error: unknown) => unknown) | null;
  /**
   * Once nobody can still act and what left has landed, and nobody has answered: `ask` goes on waiting for a person,
   * `tell` lets the model know, `fail` ends the run as `OutcomeUnknown`, `compensate` undoes whatever the run did, this
   * call as well, and begins again where its agent has restarts left. Null: `ask`, for keyed and repeatable tools
   * `tell`, at once after the last try.
   */
  readonly onUnknown: OnUnknown | null;
  /** Whether it may run beside other calls of its reply. If not, it runs alone and in its place. */
  readonly parallel: boolean;
  /** Null: the model is told of every failure at once. */
  readonly retry: Retry | null;
  /**
   * Facts that a result claims, such as `{ "flight 42 is free": true }`. Where two calls claim other values for one name,
   * and do so again, their tools contradict each other: the model is told, then the run is stopped.
   */
  readonly claims: ((result: Json) => Readonly<Record<string, Json>>) | null;
  /** Compensation: called in reverse order when a run fails, or is cancelled and that is asked for. */
  readonly undo: Undo<Input> | null;
  /**
   * What is recorded of its arguments and of its result, and no promise of it. It is run with what is recorded of its
   * arguments. Where this throws, all of the value is withheld. Secrets and credentials are taken out without it.
   */
  readonly redact: ((value: Json, of: "arguments" | "result") => Json) | null;
}

/** The call that is to be undone: what it went out under, and what it came to. */
export interface OfCall {
  /** `result` null: nobody knows whether it happened. An undo of what never happened does nothing, and succeeds. */
  readonly of: { readonly key: string; readonly result: Json | null };
}

export type UndoContext<Input> = ToolContext<Input> & OfCall;

export interface Undo<Input> {
  /** How often the undo itself may be repeated: it is a call of its own, with a key of its own. */
  readonly effect: Effect;
  readonly run: (context: UndoContext<Input>) => unknown;
  /** What became of the undo of that key; a `probed` undo has one, no other has. */
  readonly probe?: (context: ProbeContext<Input> & OfCall) => Probe | Promise<Probe>;
  /** Milliseconds; that of the tool unless told. */
  readonly timeoutMs?: number;
}

/** A model: `openai-compatible:http://HOST/v1#MODEL`, or any AI SDK language model, also a scripted one. */
export type ModelChoice = string | LanguageModelV4;

/** `stop`: equal calls with equal results, again and again, stop a run. `ignore`: they are what its agent is there for. */
export type LoopPolicy = "stop" | "ignore";

/** What a tool gets. */
export interface ToolContext<Input> {
  readonly input: Input;
  /** The same for every try of this call: hand it to the other side as its idempotency key. */
  readonly key: string;
  /** Rises with every invocation of the run: a fencing token for systems that compare it. */
  readonly epoch: number;
  /** Fires at the tool's timeout. What goes on after it ends the process. */
  readonly signal: AbortSignal;
  /** When the signal fires, epoch milliseconds. */
  readonly deadline: number;
  /** A line for the operator. */
  readonly log: (line: string) => void;
  /** Those that the agent declares. */
  readonly secrets: ToolSecrets;
}

/** What a probe gets: the key that the call went out with. */
export type ProbeContext<Input> = Pick<ToolContext<Input>, "input" | "key" | "signal" | "secrets">;

/** The truth about a call, as far as the other side can tell it. */
export type Probe =
  | { readonly kind: "happened"; readonly result: unknown }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown" };

/** What a tool gets of the secrets that its agent declares. */
export interface ToolSecrets {
  /** The value that it has now. Rejects with what to do where it has none, or is not declared. */
  get(name: string): Promise<string>;
}

/** One settled call, as checks and results see it. */
export interface SettledCall {
  readonly call: string;
  readonly tool: string;
  readonly args: Json;
  readonly outcome: CallOutcome;
  readonly result: Json;
}

/** A run as a check sees it: nothing that a resumed run could see otherwise. */
export interface RunView<Task = Json> {
  readonly task: Task;
  /** In the order of the transcript. */
  readonly calls: readonly SettledCall[];
  /** The model's last words. */
  readonly text: string;
  readonly spent: Spent;
}

export interface Check<Task = never> {
  readonly name: string;
  /** True when it holds; false or a sentence that says what is missing. May read outside, must not change it. */
  holds(view: RunView<Task>): boolean | string | Promise<boolean | string>;
}

/** What follows when a run has failed and things that it did stand; see `SagaOptions`. */
export interface Saga {
  readonly onFailure: "undo" | "leave";
  readonly onOutage: "undo" | "leave";
  readonly restarts: number;
  readonly leaving: "nothing" | "effects";
}

/** What an agent declares, checked. */
export interface OutagePolicy {
  /** How long a run waits, in milliseconds since the first call that failed. */
  readonly outageMaxMs: number;
  readonly fallbacks: readonly Fallback[];
}

/** A fallback as it is charged. */
export interface Fallback extends Priced {
  readonly model: ModelChoice;
}

/** Who says what an agent is charged by. */
type PriceFrom =
  | { readonly kind: "agent" }
  | { readonly kind: "none" }
  | { readonly kind: "config" | "table"; readonly source: string | null; readonly lookedAt: string | null };

/** What an agent is charged by; `cairn.config.ts` may still change it, unless the agent says it. */
export interface Priced {
  readonly price: Price;
  readonly priceFrom: PriceFrom;
}

export interface Schedule {
  readonly every: string;
  readonly timezone: string;
  readonly input: Json;
  readonly overlap: "skip" | "allow";
  readonly missed: "latest" | "skip";
}
