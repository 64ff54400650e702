/**
 * The trace of one task: a file to which its processes append a line for each moment passed and each call made. It is
 * written outside of the strategies, so no strategy can improve its own figures.
 *
 * Each line is one `write`, which survives a SIGKILL. A call is also synced to disk, because the comparison must not
 * lose a call that happened.
 */
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Effect } from "../core/calls/effects.ts";
import type { Json } from "../core/json.ts";
import type { KillMoment } from "./kills.ts";

/** The task passed a moment before, during or after something that a crash may separate. */
export interface Passed extends Pick<KillMoment, "when" | "name"> {
  readonly kind: "moment";
  /** For humans: the tool, the version or the epoch. */
  readonly where: string;
  readonly at: number;
  readonly pid: number;
}

/** A call of a tool or its undo. `unsure`: its outcome is unknown; `threw`: it had no effect. */
export interface CallLine {
  readonly kind: "call";
  readonly at: number;
  readonly pid: number;
  readonly what: "begun" | "returned" | "threw" | "unsure";
  readonly tool: string;
  readonly effect: Effect;
  readonly key: string;
  /** The key of the call that this one undoes; absent if it is not an undo. */
  readonly undoes?: string;
  readonly args: Json;
  /** The value that it returned; null if it did not return. */
  readonly result: Json;
}

/** A call of a tool, an undo or the model ended. `nth` is the number of its `during` moment. */
export interface Took {
  readonly kind: "took";
  readonly name: KillMoment["name"];
  readonly nth: number;
  readonly ms: number;
  readonly at: number;
  readonly pid: number;
}

/** A process started or resumed the task. */
export interface BegunTask {
  readonly kind: "begun";
  readonly at: number;
  readonly pid: number;
}

/** A plain loop had a call decided that asks for approval. The records of a run of cairn hold such decisions. */
export interface DecisionLine {
  readonly kind: "decision";
  readonly as: "approved" | "denied";
  readonly at: number;
  readonly pid: number;
}

export type Line = Passed | CallLine | Took | BegunTask | DecisionLine;

const fileOf = (dir: string, task: number): string => join(dir, `task-${task}.jsonl`);

type Unstamped<L> = L extends Line ? Omit<L, "at" | "pid"> : never;

/** Appends a line to the trace of a task, with the time and the process ID. */
export function append(dir: string, task: number, line: Unstamped<Line>): void {
  const text = `${JSON.stringify({ ...line, at: Date.now(), pid: process.pid })}\n`;
  if (line.kind !== "call") {
    appendFileSync(fileOf(dir, task), text);
    return;
  }
  const file = openSync(fileOf(dir, task), "a");
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
}

/** The trace of a task. An incomplete last line is ignored. */
export function traceLines(dir: string, task: number): readonly Line[] {
  const file = fileOf(dir, task);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** Counts the moments of one task, including those that other processes passed. */
export class MomentCount {
  readonly #dir: string;
  readonly #task: number;
  #read = 0;
  readonly #counts = new Map<string, number>();

  constructor(dir: string, task: number) {
    this.#dir = dir;
    this.#task = task;
  }

  /** How often the task has passed this moment so far. */
  of({ when, name }: Pick<KillMoment, "when" | "name">): number {
    const file = fileOf(this.#dir, this.#task);
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    const fresh = bytes.subarray(this.#read).toString("utf8");
    this.#read = bytes.length;
    for (const text of fresh.split("\n").slice(0, -1)) {
      const line = JSON.parse(text) as Line;
      if (line.kind !== "moment") continue;
      const name = `${line.when} ${line.name}`;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
    return this.#counts.get(`${when} ${name}`) ?? 0;
  }
}
