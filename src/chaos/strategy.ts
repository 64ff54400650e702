/** What a strategy is given, and what it leaves behind for the comparison. */
import type { Chaos } from "../sdk/chaos.ts";
import type { Agent } from "../ports/agent.ts";
import type { WorkerOptions } from "../adapters/local/workers.ts";
import type { Json } from "../core/json.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Kill } from "./kills.ts";
import type { Line } from "./trace.ts";

export const STRATEGIES = ["in-process", "act-then-save", "cairn"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/** One directory with tasks in it, killed or not. */
export interface Pass {
  /** What the agent finds in `CAIRN_STORE`. */
  readonly dir: string;
  readonly agent: Agent;
  /** Its file, absolute. */
  readonly file: string;
  /** The inputs, by number of the task. */
  readonly tasks: ReadonlyMap<number, Json>;
  readonly kills: ReadonlyMap<number, Kill>;
  readonly limits: Limits;
  readonly chaos: Chaos | null;
  readonly onProgress: (ended: number) => void;
  readonly stop: AbortSignal;
}

/** How the processes are started: only the command line knows its modules. `env` of the pass comes on top. */
export interface Starting {
  readonly worker: (of: {
    readonly dir: string;
    readonly limits: Limits;
    readonly agentFiles: readonly string[];
    /** Where marks and lines are written. */
    readonly chaos: string;
  }) => WorkerOptions;
  readonly loop: (of: LoopSettings) => WorkerOptions;
}

/** What the process of a loop is started with; it travels as JSON. */
export interface LoopSettings {
  readonly marks: string;
  readonly agentFile: string;
  readonly agent: string;
}

/** What it is asked to do next: as a worker of cairn it lives on from task to task. */
export interface LoopTask {
  readonly task: number;
  readonly input: Json;
  /** Where it saves, or null. */
  readonly file: string | null;
}

export interface Outcome {
  readonly task: number;
  /** Null: it was killed and no process knows of it any more, or it did not come to an end. */
  readonly end: { readonly status: string; readonly result: Json } | null;
  /** Why there is no end. */
  readonly why: string | null;
  /** The run, where it is one. */
  readonly run: string | null;
  readonly lines: readonly Line[];
  /** When it was killed, and whom that hit; null if the moment did not come. */
  readonly killed: { readonly at: number; readonly pid: number } | null;
  /** What a person had to do for it. */
  readonly answers: Answers;
}

/** Gates approved; unknown calls that were said to have happened, or not. */
export interface Answers {
  readonly approved: number;
  readonly confirmed: number;
  readonly repeated: number;
}

export const NO_ANSWERS: Answers = { approved: 0, confirmed: 0, repeated: 0 };

/** Beats, or processes of loops, at the same time. */
export const AT_ONCE = 2;
/** How often the command looks for processes that are held. */
export const LOOK_MS = 5;
