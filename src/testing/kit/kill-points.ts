/**
 * The names of the moments at which a test kills a process, such as `after:effect:send#3`: after the third run of the
 * tool `send`, before its result is recorded. Without `#` it is the first one.
 */
import { FAULT_POINTS } from "../../ports/fault-point.ts";
import type { Moment } from "../fault-points.ts";

type When = Moment["when"];
type Step = Exclude<Moment["name"], "effect" | "undo"> | `${"effect" | "undo"}:${string}`;

/**
 * `claim`: a process takes the run. `model`: a model call. `intent`: the commit that records calls before they run.
 * `effect:TOOL`, `undo:TOOL`: a run of that tool or of its undo. `put`: the write of a snapshot. `release`: the commit
 * that points to it.
 */
export type KillPoint = `${When}:${Step}` | `${When}:${Step}#${number}`;

const SYNTAX = /^(?<when>before|after):(?<name>[a-z]+)(?::(?<tool>[a-zA-Z][\w-]*))?(?:#(?<nth>[1-9]\d*))?$/;
const NAMES: ReadonlySet<string> = new Set([...FAULT_POINTS, "model"]);

/** The full name, with its number. Throws if it is no kill point. */
export function checkedKillPoint(text: string): KillPoint {
  const { when, name = "", tool, nth = "1" } = SYNTAX.exec(text)?.groups ?? {};
  const needsTool = name === "effect" || name === "undo";
  if (when === undefined || !NAMES.has(name) || needsTool !== (tool !== undefined))
    throw new Error(`${text} is not a kill point: write for example after:effect:TOOL, before:put or after:model#2`);
  return `${when}:${name}${tool === undefined ? "" : `:${tool}`}#${nth}` as KillPoint;
}

/** Names the moments of one run as they pass. */
export class PassedPoints {
  readonly #counts = new Map<string, number>();
  readonly passed: KillPoint[] = [];

  add({ when, name, at }: Moment): KillPoint {
    const step = name === "effect" || name === "undo" ? `${when}:${name}:${at}` : `${when}:${name}`;
    const nth = (this.#counts.get(step) ?? 0) + 1;
    this.#counts.set(step, nth);
    const point = `${step}#${nth}` as KillPoint;
    this.passed.push(point);
    return point;
  }
}
