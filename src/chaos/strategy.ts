/** The interface of a strategy: its input, and the outcomes that it returns for the comparison. */
import type { Chaos } from "../sdk/chaos.ts";
import type { Agent } from "../ports/agent.ts";
import type { WorkerOptions } from "../workers/workers.ts";
import type { Json } from "../core/json.ts";
import type { Limits } from "../protocol/limits.ts";
import type { GateDecision } from "./gates.ts";
import type { Kill } from "./kills.ts";
import type { Line } from "./trace.ts";

/** The compared strategies: a loop in memory, a loop that saves after each beat, and cairn. */
export const STRATEGIES = ["in-process", "act-then-save", "cairn"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/** The tasks of one directory, killed or uninterrupted. */
export interface TrialPass {
  /** The directory that the agent finds in `CAIRN_STORE`. */
  readonly dir: string;
  readonly agent: Agent;
  /** The agent's file, as an absolute path. */
  readonly file: string;
  /** The input of each task, by its number. */
  readonly tasks: ReadonlyMap<number, Json>;
  readonly kills: ReadonlyMap<number, Kill>;
  readonly limits: Limits;
  readonly chaos: Chaos | null;
  /** What the user typed, beside what the file says. */
  readonly typed: TypedFlags;
  readonly onProgress: (ended: number) => void;
  readonly stop: AbortSignal;
}

export interface TypedFlags {
  /** The names of the tools that act for real. */
  readonly real: readonly string[];
  /** The decision about all calls that ask for approval; null: the rule of the file decides. */
  readonly gates: GateDecision | null;
}

/** How to start the processes. Only the command line knows their modules. The `env` of the pass is added. */
export interface Starting {
  readonly worker: (settings: {
    readonly dir: string;
    readonly limits: Limits;
    /** The directory for marks and traces. */
    readonly chaos: string;
    /** The agent of the tasks. */
    readonly agent: string;
    readonly real: readonly string[];
  }) => WorkerOptions;
  readonly loop: (settings: LoopSettings) => WorkerOptions;
}

/** The settings of a loop process. They are passed as JSON. */
export interface LoopSettings extends TypedFlags {
  readonly dir: string;
  readonly marks: string;
  readonly agentFile: string;
  readonly agent: string;
}

/** The next task of a loop process. */
export interface LoopTask {
  readonly task: number;
  readonly input: Json;
  /** The file to which it saves its state, or null. */
  readonly file: string | null;
}

/** The outcome of one task. */
export interface Outcome {
  readonly task: number;
  /** How the task ended; null if it did not: its process was killed and nothing resumed it, or it made no progress. */
  readonly end: { readonly status: string; readonly result: Json } | null;
  /** Why the task did not end, or null. */
  readonly why: string | null;
  /** The run ID; null for a plain loop. */
  readonly run: string | null;
  readonly lines: readonly Line[];
  /** When it was killed, and the killed process; null if the chosen moment did not come. */
  readonly killed: { readonly at: number; readonly pid: number } | null;
  /** The decisions that the operator made for it. */
  readonly answers: AnswerCounts;
  /** How often its work was handed to another child run, because the one before gave no usable report. */
  readonly handedOutAgain: number;
}

/**
 * Counts of decisions: approved and denied gates, answers and events that were given, and unknown outcomes reconciled as
 * happened (`confirmed`) or not (`repeated`).
 */
export interface AnswerCounts {
  readonly approved: number;
  readonly denied: number;
  readonly answered: number;
  readonly confirmed: number;
  readonly repeated: number;
}

export const NO_ANSWERS: AnswerCounts = { approved: 0, denied: 0, answered: 0, confirmed: 0, repeated: 0 };

/** How many beats or loop processes run at the same time. */
export const AT_ONCE = 2;
/** The interval at which the command looks for paused processes, in milliseconds. */
export const LOOK_MS = 5;
