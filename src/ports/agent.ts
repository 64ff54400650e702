/**
 * An agent as the engine knows it: the plain types of what `defineAgent` (`src/sdk`) checks and returns. They lie below
 * the engine, so that the engine runs an agent without importing what users import.
 * More than 400 lines: these types refer to each other.
 */
import type { LanguageModelV4, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import type * as z from "zod";
import type { Budget, Grant, Spent } from "../core/policy/budget.ts";
import type { Dial } from "../core/policy/dial.ts";
import type { Effect } from "../core/calls/effects.ts";
import type { OnUnknown } from "../core/event.ts";
import type { RunLabels } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { ChosenPer } from "../core/choice.ts";
import type { LeftOutTool } from "../core/left-out.ts";
import type { CallOutcome, Value } from "../core/message.ts";
import type { RunFiring } from "../core/run-firing.ts";
import type { Price } from "../core/policy/price.ts";
import type { RunRetention } from "../core/policy/retention.ts";
import type { UpgradePolicy } from "../core/state.ts";
import type { WaitKind } from "../core/wait.ts";
import type { Memory, NewMemoryEntry } from "./memory.ts";
import type { ModelOptions } from "./model-options.ts";
import type { Shape, TopologyModule } from "../core/topologies/topology.ts";

/** A checked agent. */
export interface Agent<Task extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>
  extends Priced, OutagePolicy {
  readonly name: string;
  readonly version: string;
  readonly model: ModelChoice;
  readonly instructions: string;
  readonly task: Task;
  readonly tools: Readonly<Record<string, Tool>>;
  /** Servers that list further tools while a run is at work. Absent: none. */
  readonly sources?: readonly ToolSource[];
  /** The definition of done: a run may not complete before all of these checks hold. */
  readonly done: readonly Check<z.output<Task>>[];
  /** `parent`: a run is a part of the trace of its caller. Absent: it has a trace of its own, which links to that. */
  readonly callerTrace?: "link" | "parent";
  /** What lists call a run, from its task. Absent: an excerpt of the task. */
  title?(view: { readonly task: z.output<Task> }): string;
  /** The result of the run. */
  result(view: RunView<z.output<Task>>): Json;
  readonly topology: Topology;
  /** Settings of its model requests, those to fallbacks and role models included. Absent: the providers' defaults. */
  readonly modelOptions?: ModelOptions;
  /** The schema of its result. Absent: `result` decides. */
  readonly output?: Output;
  /** Further models by name, for the roles of its topology. Absent in agents of another copy of cairn. */
  readonly models?: Readonly<Record<string, Fallback>>;
  /** What its runs recall when they begin, and learn when they are done. Absent: nothing. */
  readonly memory?: MemoryPolicy;
  /** How many beats an invocation may make before it stores a snapshot and releases the run. Absent: the deployment's. */
  readonly checkpoint?: CheckpointEvery;
  readonly upgrade: UpgradePolicy;
  /** What happens to a run that nobody answers for as long as a run may wait. Absent: `end`. */
  readonly onIdle?: OnIdle;
  /** How long its approvals wait for a human, those for more budget included. Absent: a day, then they are denied. */
  readonly approvals?: Partial<ApprovalTerms>;
  /** Absent: a run has no deadline. */
  readonly deadline?: DeadlinePolicy;
  readonly budget: Budget;
  /** Whether a run that repeats itself is stopped. */
  readonly loops: LoopPolicy;
  readonly dial: Dial;
  /** How long the run waits for its model before it fails, in milliseconds; null: as long as a call may take. */
  readonly hardIdleMs: number | null;
  /**
   * The context size in tokens. From 80 % of it on, the context is made shorter; null: only when the provider refuses
   * it.
   */
  readonly contextTokensMax: number | null;
  /** Which model summarises its context, and how. Absent: the working model, with cairn's own instructions. */
  readonly summaries?: Summaries;
  /** When cairn starts the agent; null: never. */
  readonly schedule: Schedule | null;
  /** Null: the world's default retention, and no archive. */
  readonly retention: RunRetention | null;
  /** What happens to the effects of a run that has failed. */
  readonly saga: Saga;
  /** The names of its secrets. */
  readonly secrets: readonly string[];
  /** The tools of its servers that it does not have, as its servers list them now. Absent: none. */
  readonly leftOut?: readonly LeftOutTool[];
  /** Chooses what varies. Absent: nothing does. */
  readonly chooser?: Chooser;
  /** The instructions that the chooser made, while a request is prepared: an object of the run. */
  readonly chosenInstructions?: Value;
  /** False: its model gets no `cairn_read`. Absent: once a result is too long to show. */
  readonly readsResults?: false;
  /** The tools whose results get a summary once they are too long to show, or all of them. Absent: none. */
  readonly summarisedResults?: "all" | readonly string[];
}

/** What an agent chooses for the calls of its model. A member that is absent is what the agent declares. */
export interface ChoiceMade {
  /** In place of its instructions. They are recorded, so secrets are taken out of them. */
  readonly instructions?: string;
  /** The tools that the model is offered, in this order. */
  readonly offered?: readonly string[];
  /** The name of one of its models. */
  readonly model?: string;
  /** In addition to its own. */
  readonly options?: ModelOptions;
  /** Why no further call is made: the last reply is then judged like one without calls. */
  readonly stop?: string;
}

/** A run as a chooser sees it. */
export interface ChoiceView<Task = Json> extends RunView<Task> {
  readonly steps: readonly RunStep[];
  /** The choice that holds so far; null at the start, after a restart and with another version of the agent. */
  readonly previous: ChoiceMade | null;
  readonly run: string;
  /** The restart number, from 1. */
  readonly restart: number;
  readonly tenant: string;
  /** Who started the run; null: nobody said it. */
  readonly starter: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly startedAt: number | null;
}

/**
 * Chooses before calls of the model: `run`: once, and again after a restart and with another version of the agent; `step`:
 * before each call. It may read outside and must change nothing: a process that dies before the choice is durable chooses
 * again.
 */
export interface Chooser {
  readonly per: ChosenPer;
  readonly choose: (view: ChoiceView<never>) => ChoiceMade | Promise<ChoiceMade>;
}

/** `model`: the name of one of its `models`; absent: the working model. */
export interface Summaries {
  readonly model?: string;
  readonly instructions?: string;
}

/** What a run of the agent results in. */
export type ResultOf<A extends { readonly output?: z.ZodType }> = A extends { readonly output?: infer Output }
  ? Output extends z.ZodType
    ? z.output<Output>
    : Json
  : Json;

/** A number of beats, or `unit`: until the stage, step or round is complete, as far as the time of a beat allows. */
export type CheckpointEvery = number | "unit";

/** A topology with its options, and the functions of the user that the options name. */
export interface Topology extends Shape {
  readonly functions?: Readonly<Record<string, TopologyFunction>>;
  /** Absent: the topology of that kind in cairn's table. */
  readonly module?: TopologyModule;
}

/** What a function of a topology gets: the run, and what it judges. */
export interface TopologyView<Task = Json> extends RunView<Task> {
  /** The text to judge. */
  readonly output: string;
  /** What the topology says about it: the stage or the step. */
  readonly about: Json;
}

/** What a function of a topology may say besides that something holds or not. */
export interface JudgedOutput {
  readonly holds: boolean;
  readonly why: string;
  readonly detail?: Json;
}

/**
 * A function that a topology needs: a gate, a precondition, an end-to-end check. It may read outside and must change
 * nothing: after a crash it runs again. False or a sentence: it does not hold.
 */
export type TopologyFunction = (
  view: TopologyView<never>,
) => boolean | string | JudgedOutput | Promise<boolean | string | JudgedOutput>;

/** Returns the reason for asking a human about a call, or false. */
export type ApprovalRule<Input> = (input: Input, context: CallContext) => string | false | Promise<string | false>;

/** How long an approval waits for a human, and what follows without a decision. */
export interface ApprovalTerms {
  /** Milliseconds; null: never, so a human is asked again before the run would expire. */
  readonly expiresMs: number | null;
  /** `deny`: the call is denied. `ask`: a human is asked again. */
  readonly onExpiry: "deny" | "ask";
}

/** A checked tool. */
export interface Tool<Schema extends z.ZodType = z.ZodType> extends ToolRules<z.output<Schema>> {
  /** What the model reads about the tool. */
  readonly description: string;
  /** The zod schema of the arguments. The model sees it as JSON Schema, and arguments that do not fit are refused. */
  readonly input: Schema;
  /** The schema of its result; the parsed value is kept. Null: any JSON. */
  readonly output: z.ZodType | null;
  /** Whether and how the effect may be repeated: `none`, `keyed`, `idempotent`, `probed` or `unsafe`. Recovery follows it. */
  readonly effect: Effect;
  /** Does the work. It throws if the effect did not happen, and `OutcomeUnknown` if it cannot tell. */
  readonly run: (context: ToolContext<z.output<Schema>>) => unknown;
  /**
   * Asks the external service for the outcome of the call with that key. A `probed` tool has one, no other tool does.
   */
  readonly probe: ((context: ProbeContext<z.output<Schema>>) => Probe | Promise<Probe>) | null;
  /**
   * Reads, before the call starts, what the probe will compare with: at most 4 KB of JSON. It must change nothing. If it
   * throws, the call does not start. For probed tools. Absent: the probe gets no before-image.
   */
  readonly before?: (input: z.output<Schema>, context: BeforeContext) => unknown;
  /**
   * Whether a human approves a call before it starts. A function returns the reason for asking, or false. It has 10 s; if it
   * fails, a human is asked.
   */
  readonly approval: "never" | "always" | ApprovalRule<z.output<Schema>>;
  /** How long its approvals wait for a human, and what follows. Absent: as its agent says. */
  readonly approvals?: Partial<ApprovalTerms>;
  /** How long a call may take, in milliseconds; null: the world's default (30 s). At most 45 s in a beat of 60 s. */
  readonly timeoutMs: number | null;
  /** How many milliseconds after its caller's lease a request may still take effect; null: the world's default (30 s). */
  readonly settleMs: number | null;
  /** The external service's name for the effect, for the ledger of calls. */
  readonly externalId: ((result: Json) => string | null) | null;
  /** A `ToolSource` lists it. Absent for the agent's own tools. */
  readonly isListed?: true;
  /** What its source says about it that would allow other declarations, as sentences for the audit. Absent: nothing. */
  readonly suggests?: readonly string[];
  /** A call dispatches a child run of another agent, and `run` is never called. Absent for other tools. */
  readonly child?: ChildRun;
  /** What a provider gets about the tool besides its description and its schema. Absent: nothing. */
  readonly described?: ToolDescribed;
  /** A call waits for an answer, an event or a time, and `run` is never called. Absent for other tools. */
  readonly wait?: WaitRule;
}

/** `strict`: the provider holds the model to the schema. */
export type ToolDescribed = Pick<LanguageModelV4FunctionTool, "strict" | "inputExamples" | "providerOptions">;

/** A server that lists tools for an agent, such as an MCP server. */
export interface ToolSource {
  /** What it is, for humans: `MCP server github`. */
  readonly label: string;
  /** The beginning of the names of its tools. May be empty. */
  readonly prefix: string;
  /** The timeout of its calls in milliseconds; null: the world's default. */
  readonly timeoutMs: number | null;
  /** How long it may take to connect and to list, in milliseconds, as its author wrote it. Absent: what a beat allows. */
  readonly connectMs?: number;
  /** It is a process that the worker starts. A function on Lambda cannot keep one. */
  readonly startsProcess: boolean;
  /** The tools of its last list that it leaves out. Absent: none. */
  readonly leftOut?: () => readonly Omit<LeftOutTool, "source">[];
  /**
   * The tools that it has now. An unchanged tool is the same object. Rejects if the server cannot be asked, unless
   * `mayBeOld` and this process has asked it before.
   */
  readonly list: (query: {
    readonly secrets: ToolSecrets;
    readonly mayBeOld: boolean;
    /** The time of the world, in epoch milliseconds. */
    readonly now: number;
    /** How long the caller waits, in milliseconds. Absent: as long as it takes. */
    readonly ms?: number;
  }) => Promise<Readonly<Record<string, Tool>>>;
}

/** What the calls of a tool wait for (`askHuman`, `sleep`, `waitFor`). Its functions get the parsed arguments. */
export interface WaitRule {
  readonly for: WaitKind;
  /** The name of the event. Only where the calls wait for one. */
  event?(input: unknown): string;
  /** The limit, in epoch milliseconds; null: none. If it throws, the call is refused. */
  until(input: unknown, now: number): number | null;
  /** What fits as an answer, or as the detail of an event; null: any JSON. */
  readonly accepts: z.ZodType | null;
  /** Whether what fits ends the wait; absent: all that fits does. What does not is an interim report. */
  ends?(detail: Json): boolean;
  readonly atLimit: { readonly kind: "tell" | "fail" } | { readonly kind: "take"; readonly value: Json };
  /** The calls wait for the next message of a conversation (`core/calls/next-message.ts`). */
  readonly chat?: true;
}

/** The child runs that a child tool dispatches (`childTool`). */
export interface ChildRun {
  /** The name of the agent of the child. */
  readonly agent: string;
  /** What the parent reserves for each child: the child spends no more. */
  readonly grant: Grant;
  /** Milliseconds after which a child is too late. */
  readonly deadlineMs: number;
  /** How many children one call may have, one after the other. */
  readonly tries: number;
  /** False: the parent does not wait for the child, which works without a parent. */
  readonly wait: boolean;
  /** An answer that repeats the task is no lost hand-off. */
  readonly mayEcho?: true;
  /** What follows when an equal hand-off failed after its child had acted outside. Absent: the call is refused. */
  readonly afterEffects?: "ask";
}

/** Retries of failed calls, with the same idempotency key, before the model gets the error. Not for unsafe tools. */
export interface Retry {
  /** All tries, with the first one and those with an unknown outcome: 1 to 3. */
  readonly attempts: number;
  /** Whether another try may help; absent: after every error. It must not return a promise. */
  readonly when?: (error: unknown) => boolean;
  /** Milliseconds before the second try, and twice as many before the third; 0 by default, 10,000 at most. */
  readonly backoffMs?: number;
}

/** The run of a call, as every function of its tool sees it. */
export interface CallContext {
  /** The ID of the run: a name for what the tool keeps for this run alone, such as its database. */
  readonly run: string;
  /** The input of the run, as the agent's schema parsed it at the start: a copy. */
  readonly task: Json;
  /** The restart number, from 1: how often the run began its task. */
  readonly restart: number;
  /** The firing of a schedule that started the run; absent: none did. */
  readonly firing?: RunFiring;
}

/** What a key may be made of. It is the same for every try, so its `attempt` is that of the run at its task. */
export interface KeyContext extends CallContext {
  /** The same number as `restart`. */
  readonly attempt: number;
}

/** How a tool's calls are keyed, retried, recorded and compensated. */
export interface ToolRules<Input> {
  /**
   * A business key, such as `trip_42_charge_v1`, in place of the derived idempotency key: 1 to 128 printable ASCII
   * characters without spaces. It names the effect, so within a run it belongs to one tool and one set of arguments.
   * A key that contains `restart` names a new action after a restart. Null: this call gets the derived key.
   */
  readonly key: ((input: Input, context: KeyContext) => string | null) | null;
  /**
   * Reads an error of the external service. If the error says that something exists already under our key, it returns
   * the result of the call; for every other error it returns null. It must not return a promise. For keyed and probed
   * tools.
   */
  readonly onExists: ((error: unknown) => unknown) | null;
  /**
   * What happens to an unknown outcome, once no process can still act, earlier requests have settled and no human has
   * reconciled it:
   *
   * - `ask` goes on waiting for a human.
   * - `tell` lets the model know.
   * - `fail` ends the run as `OutcomeUnknown`.
   * - `compensate` compensates the whole run, this call included, and restarts it if its agent has restarts left.
   *
   * Null: `ask`; for keyed tools and tools without effect `tell`, at once after the last try.
   */
  readonly onUnknown: OnUnknown | null;
  /** Whether it may run in parallel with other calls of its reply. If not, it runs alone and in its place. */
  readonly parallel: boolean;
  /** Null: the model gets every error at once. */
  readonly retry: Retry | null;
  /**
   * Facts that a result states, such as `{ "flight 42 is free": true }`. If two calls state different values for one
   * name, and do so again, their tools contradict each other: the model is told, then the run is stopped.
   */
  readonly claims: ((result: Json) => Readonly<Record<string, Json>>) | null;
  /** `ignore`: equal calls and errors are expected, as of a poll, so they are no part of a loop. Absent: they are. */
  readonly loops?: "ignore";
  /** The compensation, called in reverse order when a run fails, or is cancelled with a request to compensate. */
  readonly undo: Undo<Input> | null;
  /**
   * What follows from an effect when its pipeline discards the stage that made it. `keep`: it stands, and nobody is
   * asked. Absent: it is undone before the stage begins again; without `undo` a human is asked.
   */
  readonly onRollBack?: "keep";
  /**
   * Returns what is recorded of its arguments, result or before-image. It must not return a promise. The tool runs with the recorded
   * arguments. If this throws, the whole value is withheld. Secrets and credentials are removed without it.
   */
  readonly redact: ((value: Json, what: "arguments" | "result" | "before") => Json) | null;
}

/** The call to compensate: its key and its result. */
export interface OfCall {
  /** `result` null: the outcome is unknown. An undo of a call that never happened does nothing and succeeds. */
  readonly of: { readonly key: string; readonly result: Json | null };
}

export type UndoContext<Input> = ToolContext<Input> & OfCall;

/** A tool's compensation. */
export interface Undo<Input> {
  /** The effect class of the undo itself: it is a call of its own, with its own idempotency key. */
  readonly effect: Effect;
  /** Undoes the effect of `of`. It must do nothing and succeed if that call never happened. */
  readonly run: (context: UndoContext<Input>) => unknown;
  /** Asks for the outcome of the undo with that key. A `probed` undo has one, no other undo does. */
  readonly probe?: (context: ProbeContext<Input> & OfCall) => Probe | Promise<Probe>;
  /** Milliseconds; absent: the timeout of the tool. */
  readonly timeoutMs?: number;
}

/**
 * A model: `anthropic:MODEL`, `openai:MODEL`, `google:MODEL`, `bedrock:MODEL` or `openai-compatible:http://HOST/v1#MODEL`
 * (docs/models.md), or any AI SDK language model, also a scripted one.
 */
export type ModelChoice = string | LanguageModelV4;

/** What happens to a run that nobody answers: it ends as `Expired`, or goes on waiting. */
export type OnIdle = "end" | "wait";

/**
 * `stop`: repeated equal calls with equal results stop a run, and so do 8 replies in a row whose calls of one tool all
 * failed. `{ failures }`: the same, with another number. `ignore`: the agent is made for such calls.
 */
export type LoopPolicy = "stop" | "ignore" | { readonly failures: number };

/** What a tool gets. */
export interface ToolContext<Input> extends CallContext {
  /** The arguments as the tool's schema parses them, after redaction. */
  readonly input: Input;
  /** The idempotency key, the same for every try of this call. Pass it to the external service. */
  readonly key: string;
  /**
   * 1 if no earlier attempt of this call can have been started. Otherwise at least 2, and higher than that of every
   * earlier attempt that ended without a process death.
   */
  readonly attempt: number;
  /** The epoch, which rises with every invocation of the run: a fencing token for services that compare it. */
  readonly epoch: number;
  /** Fires at the tool's timeout. If the call goes on after the grace period, the process ends. */
  readonly signal: AbortSignal;
  /** When the signal fires, epoch milliseconds. */
  readonly deadline: number;
  /**
   * The span of this call as a header of the W3C's Trace Context. Send it with the requests of the call, and what the
   * service traces joins the trace of the run. It is the same for every try of a call, as long as none is in doubt.
   */
  readonly traceparent: string;
  /** The `tracestate` of a trace that the run has joined; absent: there is none. */
  readonly tracestate?: string;
  /** Logs a line for the operator. */
  readonly log: (line: string) => void;
  /** The secrets that the agent declares. */
  readonly secrets: ToolSecrets;
  /** The files of the run: those of its task, of messages to it, and those that calls and the model made. */
  readonly files: RunFiles;
  /**
   * The memory of the agent. It is an effect of cairn's own: an entry that is put again under its ID is there once, so a
   * tool without another effect may use it freely.
   */
  readonly memory: Memory;
  /**
   * Makes a link for an outside service that works on the call: a path below the HTTP API. A POST to it signals this
   * event to the run, with the JSON body as its detail. It needs no token, counts once, and lives for 30 days unless
   * `lifeMs` says otherwise. The path is a secret: it is removed from whatever is recorded.
   */
  readonly callback: (event: string, options?: { readonly lifeMs?: number }) => Promise<string>;
  /** Whether a result of one of these tools in this run has a link to it (`links`). For tools that cairn makes of a server. */
  readonly wasGiven?: (asked: { readonly uri: string; readonly tools: readonly string[] }) => Promise<boolean>;
}

/** The files of a run, as a tool sees them. */
export interface RunFiles {
  readonly list: () => readonly RunFile[];
  /**
   * The file with that digest or a beginning of it (8 characters), or that alone has this name. Rejects, with what to
   * type, if there is none.
   */
  readonly read: (name: string) => Promise<RunFile & { readonly content: Uint8Array }>;
}

/** A file of a run. `file`: the SHA-256 digest of its bytes. */
export interface RunFile {
  readonly file: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name: string;
}

/** What `before` gets besides the arguments. */
export type BeforeContext = CallContext &
  Pick<ToolContext<unknown>, "signal" | "secrets" | "traceparent" | "tracestate">;

/** What a probe gets: the run, and the key under which the call was sent. */
export interface ProbeContext<Input> extends BeforeContext, Pick<ToolContext<Input>, "input" | "key"> {
  /** What `before` returned before the first attempt; null if the tool has none. */
  readonly before: Json;
}

/** The outcome of a call, as far as the external service knows it. */
export type Probe =
  /** The call happened, and this is its result. */
  | { readonly kind: "happened"; readonly result: unknown }
  /** The call did not happen, so it runs again with the same key. */
  | { readonly kind: "absent" }
  /** The service cannot tell: another probe follows, and at last an operator is asked. */
  | { readonly kind: "unknown" };

/** What a tool gets of the secrets that its agent declares. */
export interface ToolSecrets {
  /** The present value. Rejects, with what to type, if the secret has no value or is not declared. */
  get(name: string): Promise<string>;
  /**
   * Removes this value from everything that is recorded from now on, as `[secret NAME]`: for a token that the code got in
   * exchange for a secret. `name`: capital letters, digits and `_`. Absent where nothing is recorded.
   */
  hide?(name: string, value: string): void;
}

/** One settled call, as checks and results see it. */
export interface SettledCall {
  /** The ID of the call within its run, such as `c4`. */
  readonly call: string;
  readonly tool: string;
  readonly args: Json;
  /** `succeeded`, `failed` or `unknown`. */
  readonly outcome: CallOutcome;
  /** What the tool returned, or why the call did not succeed. */
  readonly result: Json;
}

/** One reply of the model, and what came of its calls. */
export interface RunStep {
  readonly text: string;
  /** The IDs of the calls that it proposed. */
  readonly proposed: readonly string[];
  /** Those that are settled. */
  readonly calls: readonly SettledCall[];
}

/** A run as a check sees it. It holds only what a resumed run sees in the same way. */
export interface RunView<Task = Json> {
  /** The input of the run, as the agent's schema parses it. */
  readonly task: Task;
  /** All settled calls, in the order of the transcript. */
  readonly calls: readonly SettledCall[];
  /** The replies since the last message of a user. Absent in views of another copy of cairn. */
  readonly steps?: readonly RunStep[];
  /** The text of the model's last reply. */
  readonly text: string;
  /** What the run has spent so far, across crashes. */
  readonly spent: Spent;
  /** The firing of a schedule that started the run; absent: none did. */
  readonly firing?: RunFiring;
}

/** One condition of the definition of done. */
export interface Check<Task = never> {
  /** The name in the timeline and in messages to the model. */
  readonly name: string;
  /**
   * Returns true if it holds; false, or a sentence that says what is missing. It may read outside, and must change
   * nothing.
   */
  holds(view: RunView<Task>): boolean | string | Promise<boolean | string>;
}

/** What the runs of an agent keep for each other; see `MemoryOptions`. */
export interface MemoryPolicy<Task = never> {
  readonly scope: string;
  readonly limit: number;
  /** What to search for when a run begins. */
  readonly recall?: (task: Task) => string | Promise<string>;
  /** What to keep of a run that is done. */
  readonly learn?: (view: RunView<Task>) => readonly LearnedEntry[] | Promise<readonly LearnedEntry[]>;
}

/** An entry that a run leaves. cairn names it, and its source is the run unless it names another one. */
export type LearnedEntry = Omit<NewMemoryEntry, "id">;

/** When each run must be over, from its start; see `DeadlineOptions`. */
export interface DeadlinePolicy {
  readonly afterMs: number;
  readonly withinMs: number;
  readonly onExpiry: "undo" | "leave";
}

/** What happens to the effects of a run that has failed; see `SagaOptions`. */
export interface Saga {
  readonly onFailure: "undo" | "leave";
  readonly onOutage: "undo" | "leave";
  readonly restarts: number;
  readonly leaving: "nothing" | "effects";
}

/** What an agent declares about outages of its model's provider. */
export interface OutagePolicy {
  /** How long a run waits for the provider, in milliseconds since the first failed call. */
  readonly outageMaxMs: number;
  readonly fallbacks: readonly Fallback[];
}

/** A fallback model and its price. */
export interface Fallback extends Priced {
  readonly model: ModelChoice;
}

/** Where the price of an agent's model comes from. */
type PriceFrom =
  | { readonly kind: "agent" }
  | { readonly kind: "none" }
  | { readonly kind: "config" | "table"; readonly source: string | null; readonly lookedAt: string | null };

/** The price of a model. `cairn.config.ts` may change it, unless the agent declares it. */
export interface Priced {
  readonly price: Price;
  readonly priceFrom: PriceFrom;
}

/** When cairn starts an agent, and with which input. */
export interface Schedule {
  readonly every: string;
  readonly timezone: string;
  readonly input: Json;
  readonly overlap: "skip" | "allow";
  readonly missed: "latest" | "skip";
  /** Of each run that it starts; absent: none. */
  readonly labels?: RunLabels;
}
