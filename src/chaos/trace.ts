/**
 * What happened to one task, line by line, in a file that its processes append to: the moments that it passed, and the
 * calls that left. It is written outside of the strategies, so none of them can make itself look better.
 *
 * A line is written by one `write`, which a SIGKILL does not take back. A call is synced as well: what went out must
 * not be forgotten by the one who counts it.
 */
import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Effect } from "../core/calls/effects.ts";
import type { Json } from "../core/json.ts";
import type { Moment } from "./kills.ts";

/** Before and after something that a crash may fall between. */
export interface Passed extends Pick<Moment, "when" | "name"> {
  readonly kind: "moment";
  /** For people: the tool, the version, the epoch. */
  readonly where: string;
  readonly at: number;
  readonly pid: number;
}

/** A tool was run, or its undo. `unsure`: it cannot tell; `threw`: it says that nothing happened. */
export interface CallLine {
  readonly kind: "call";
  readonly at: number;
  readonly pid: number;
  readonly what: "begun" | "returned" | "threw" | "unsure";
  readonly tool: string;
  readonly effect: Effect;
  readonly key: string;
  /** The key of the call that this one undoes; absent where it undoes none. */
  readonly undoes?: string;
  readonly args: Json;
  /** What it returned; else null. */
  readonly result: Json;
}

/** A process took up the task. */
export interface Begun {
  readonly kind: "begun";
  readonly at: number;
  readonly pid: number;
}

export type Line = Passed | CallLine | Begun;

const fileOf = (dir: string, task: number): string => join(dir, `task-${task}.jsonl`);

type Unstamped<L> = L extends Line ? Omit<L, "at" | "pid"> : never;

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

export function linesOf(dir: string, task: number): readonly Line[] {
  const file = fileOf(dir, task);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

/** Counts the moments of one task, also those that another process passed. */
export class MomentCount {
  readonly #dir: string;
  readonly #task: number;
  #read = 0;
  readonly #counts = new Map<string, number>();

  constructor(dir: string, task: number) {
    this.#dir = dir;
    this.#task = task;
  }

  /** How often the task has passed such a moment so far. */
  of({ when, name }: Pick<Moment, "when" | "name">): number {
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
