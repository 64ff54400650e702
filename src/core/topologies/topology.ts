/**
 * The interface of a topology: how the model calls of a run follow each other. A topology is a
 * pure module. It says what the next model call is, and what follows from what the run observed. What it has to remember
 * is its *progress*: JSON in the state of the run. So a resumed run continues with the same plan, cursor, round and caps.
 *
 * A *section* is the part of the transcript that the model sees: the task, the message that opens the section, the
 * messages of users, and what followed. The transcript itself stays whole.
 */
import type { Crack } from "../crack.ts";
import type { Failure } from "../event.ts";
import type { Json } from "../json.ts";

/** The options of a topology. They are data; functions of the user have names here and live on the agent. */
export interface Shape {
  readonly kind: string;
  /** The cap on the replies of the model. It counts those before a crash. */
  readonly maxBeats: number;
}

/** The next model call. */
export interface TurnRequest {
  /** Who the model is in this call: the name of a stage, `planner`, `critic`, ... */
  readonly role: string;
  /** In addition to the instructions of the agent. */
  readonly instructions?: string;
  /** The tools that the model may call. */
  readonly tools: "all" | "none" | readonly string[];
  /** Tools that the model may not call now, also where `tools` is all. */
  readonly withheld?: readonly string[];
  /** The instructions list all tools of the agent, so that a plan can name them. */
  readonly lists?: true;
  /** The name of a model of the agent (`models`); absent: the agent's own model. */
  readonly model?: string;
  /** Why a human approves each call that the model proposes now; absent: the tools decide that. */
  readonly approval?: string;
}

/** What a topology knows besides its progress and the observation. It derives from the state, so a resumed run knows it. */
export interface Context {
  /** Epoch milliseconds. */
  readonly now: number;
  /** The replies so far and their cap: of the whole run, or of the stage or step if the topology is nested. */
  readonly beats: { readonly used: number; readonly max: number };
  /** The replies of this section. */
  readonly sectionBeats: number;
  /** This invocation took over from one that died. It is true in one observation of the invocation. */
  readonly resumed: boolean;
  /**
   * Calls of this section that failed and that no later call of the same tool made good. `unknown`: the call may have
   * taken effect.
   */
  readonly failures: readonly { readonly tool: string; readonly why: string; readonly unknown: boolean }[];
  /** Calls of this section that took effect, or may have, in words: tool, arguments and outcome. */
  readonly effects: readonly string[];
  /** The ID of the newest message. */
  readonly newest: string;
  /** The text of a message, empty if there is no such message. */
  readonly textOf: (message: string) => string;
  /** The settled calls of this section, in the order in which they were settled. */
  readonly results: readonly CallResult[];
  /** The arguments of a call, as text of a bounded length; empty if there is no such call. */
  readonly argsOf: (call: string) => string;
  /** What a settled call returned, as text; empty if there is no such call. */
  readonly resultOf: (call: string) => string;
  /** Whether this first signal was given in this section. Another section has a cap of its own. */
  readonly wasSignalled: (crack: Crack) => boolean;
}

/** A settled call. */
export interface CallResult {
  readonly call: string;
  readonly tool: string;
  readonly outcome: "succeeded" | "failed" | "unknown";
  /** The call was refused before it was started. */
  readonly isRefused: boolean;
}

/** A hand-off: a call that dispatched a child run. */
export interface HandOff {
  readonly call: string;
  readonly tool: string;
  /** The arguments, and a digest that is equal for equal arguments. */
  readonly args: Json;
  readonly digest: string;
  /** `out`: the call waits for its child. `failed`: every try failed. */
  readonly status: "out" | "succeeded" | "failed";
  /** It failed after its child had acted outside. */
  readonly acted?: true;
}

/** A call of a child tool that is about to dispatch a child run, and what it follows. */
export interface Proposed extends Pick<HandOff, "tool" | "args" | "digest"> {
  /** The hand-offs since the task began or was restarted. */
  readonly before: readonly HandOff[];
  /** How many runs are above this one: 0 for a run without a parent. */
  readonly depth: number;
}

/** The verdict of a function of the user. `detail` is what the function says besides. */
export interface FunctionVerdict {
  readonly name: string;
  readonly holds: boolean;
  readonly why: string;
  readonly detail?: Json;
}

/** What the run observed. */
export type Observation =
  /** The model is about to be called. */
  | { readonly kind: "due" }
  /** The model replied without calls. `message` is the ID of its message. */
  | { readonly kind: "reply"; readonly message: string; readonly text: string }
  /** The functions that the topology asked for have been run. */
  | { readonly kind: "verdicts"; readonly verdicts: readonly FunctionVerdict[] }
  /** Tools contradict each other, and the model was told of it before. `say` is what the model would be told. */
  | { readonly kind: "conflict"; readonly why: string; readonly say: string }
  /**
   * Children have reported, and their reports were not read before. `unread`: how many came while the run was at work.
   * `working`: how many children have not reported. Calls are open, so only signals may follow.
   */
  | { readonly kind: "reports"; readonly unread: number; readonly working: number }
  /** The nested topology of this section gave up. */
  | { readonly kind: "gaveUp"; readonly failure: Failure }
  /** The topology had finished. A check of `done` does not hold, or a user wrote. */
  | { readonly kind: "reopened"; readonly by: "checks" | "user"; readonly why: string };

/** A first signal of a failure. */
export interface Symptom {
  readonly crack: Crack;
  readonly why: string;
}

/**
 * Earlier work is repeated: all since the message `after`, or since the run began or was restarted if it is empty.
 * `undo`: what that work did outside is undone first. `keep`: it stands, and an equal call asks a human.
 */
export interface Repeat {
  readonly after: string;
  readonly effects: "undo" | "keep";
  /** The topology itself refuses a hand-off that is equal to one of them. */
  readonly refusesHandOffs?: true;
}

/** What follows from an observation. */
export type Move<P extends Json = Json> = { readonly cracks?: readonly Symptom[] } & (
  | {
      /** Call the model. */
      readonly kind: "ask";
      readonly progress: P;
      /** For the timeline: what happened, and what follows. */
      readonly note: string;
      /** Opens a section with this message; absent: the section continues. */
      readonly say?: string;
      /** A message to the model in the section that continues. */
      readonly tell?: string;
      readonly repeats?: Repeat;
    }
  /** Run these functions of the user, then observe their verdicts with this progress. Nothing is stored before that. */
  | {
      readonly kind: "verify";
      readonly progress: P;
      readonly names: readonly string[];
      /** What the functions judge: a text, and what the topology says about it. */
      readonly output: string;
      readonly about: Json;
    }
  /** The text of this message is the answer of the run. Null: the last reply is, and nothing has to be stored. */
  | { readonly kind: "finish"; readonly progress: P; readonly message: string | null; readonly note: string }
  | { readonly kind: "fail"; readonly failure: Failure }
  /** Only the signals. */
  | { readonly kind: "signal" }
);

/** The first progress of a topology. */
export interface Begun<P extends Json = Json> {
  readonly progress: P;
  readonly note: string;
  /** Opens the first section; absent: it is the task. */
  readonly say?: string;
}

/** The names that the options of a topology refer to. `defineAgent` refuses unknown ones. */
export interface Uses {
  readonly functions?: readonly string[];
  readonly models?: readonly string[];
  readonly tools?: readonly string[];
  /** Child tools that report a memo: they wait for their child, and its result has a schema. */
  readonly workers?: readonly string[];
}

/** One topology. `O`: its options. `P`: its progress. */
export interface TopologyModule<O extends Shape = Shape, P extends Json = Json> {
  readonly kind: string;
  /** What becomes durable as one unit, for the audit: a beat, a stage, a round. */
  readonly checkpoint: string;
  /** What is wrong with the options; empty: nothing. They may come from JavaScript. */
  problems(options: O): readonly string[];
  uses(options: O): Uses;
  /** Null: there is nothing to remember yet. */
  begin(options: O, context: Context): Begun<P> | null;
  /** Whether a stored progress fits these options. Otherwise the topology begins anew: the agent has changed. */
  fits(progress: P, options: O): boolean;
  request(progress: P, options: O): TurnRequest;
  /** Null: nothing follows, and the run goes on as it is. */
  observe(progress: P, seen: Observation, setup: { readonly options: O; readonly context: Context }): Move<P> | null;
  /**
   * Why this child run must not be dispatched; null: it may. The call fails with that reason, and the model is told.
   * Absent: every child may be dispatched.
   */
  refusal?(progress: P, options: O, proposed: Proposed): string | null;
  /** The cracks that no run with these options can show. */
  misses(options: O): readonly Crack[];
  /** Why the model still decides something after a call of this tool; null: nothing is known. For the audit. */
  decidesAfter(options: O, tool: string): string | null;
  /** Where the run stands, for operators: `stage 2 of 4, write`. */
  where(progress: P, options: O): string;
}
