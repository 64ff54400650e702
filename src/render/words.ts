/** Formats numbers, times and values for humans. All functions are pure: the caller passes `now`. */
import type { Deadline } from "../core/deadline.ts";
import type { Routed } from "../core/routed.ts";
import type { Crack } from "../core/crack.ts";
import { usd } from "../core/policy/spending.ts";
import type { RunLabels } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";

/** `85ms`, `1.4s`, `12s`, `3m05s`, `2h04m`, `6d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${twoDigits(whole % 60)}s`;
  if (whole < 48 * 3_600) return `${Math.floor(whole / 3_600)}h${twoDigits(Math.floor((whole % 3_600) / 60))}m`;
  return `${Math.floor(whole / 86_400)}d`;
}

/** `just now`, `12s ago`, `in 3m05s`. */
export function relative(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < 1_000) return "just now";
  const rounded = duration(Math.round(Math.abs(ms) / 1_000) * 1_000).replace(".0", "");
  return ms < 0 ? `${rounded} ago` : `in ${rounded}`;
}

/** The time of day in that zone, with the date unless it is today there. */
export function timeOfDayIn(timezone: string, { at, now }: { readonly at: number; readonly now: number }): string {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short", timeStyle: "medium" });
  const [[date, time = ""], [today]] = [format.format(at).split(" "), format.format(now).split(" ")];
  return date === today ? time : `${date} ${time}`;
}

/** The local time of day, with the date unless it is today. */
export function timeOfDay(at: number, now: number): string {
  const [then, today] = [new Date(at), new Date(now)];
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map(twoDigits).join(":");
  if (then.toDateString() === today.toDateString()) return time;
  return `${then.getFullYear()}-${twoDigits(then.getMonth() + 1)}-${twoDigits(then.getDate())} ${time}`;
}

/** `in 7m00s, at 20:07:00`. */
export const momentWords = (at: number, now: number): string => `${relative(at, now)}, at ${timeOfDay(at, now)}`;

export const dollars = (microUsd: number): string => `$${usd(microUsd)}`;

export const count = (n: number, one: string, many = `${one}s`): string => `${grouped(n)} ${n === 1 ? one : many}`;

/** `12,300`, of a whole number. By hand: the first use of `Intl` in a process takes longer than all else of an answer. */
export const grouped = (n: number): string => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** The text on one line, cut to at most `max` characters. */
export function short(text: string, max: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).toWellFormed()}…`;
}

/** The text with its control characters but tabs, and those that reverse the direction of writing, as escapes such as `\u001b`. */
export const visible = (text: string): string =>
  text.replaceAll(
    /(?!\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** JSON on one line; a string without its quotes. */
export const shortJson = (json: Json, max: number): string =>
  short(typeof json === "string" ? json : JSON.stringify(json), max);

/** A value on one line. A large value is shown by its first characters and its size. */
export function shortValue(value: Value, max: number): string {
  if (value.kind === "inline") return shortJson(value.json, max);
  return `${short(value.head, max)} (${grouped(Math.ceil(value.bytes / 1024))} KB in all)`;
}

/** What people call a run: its title, and the key of its start in brackets. Empty where it has neither. */
export const titleWords = (names: { readonly title: string | null; readonly startKey: string | null }): string =>
  // An older server says neither.
  [names.title ?? "", names.startKey == null ? "" : `[${names.startKey}]`].filter((word) => word !== "").join(" ");

/** The labels of a run as people write them, by name. An older server says none. */
export const labelTexts = (labels: RunLabels | undefined): readonly string[] =>
  Object.entries(labels ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .toSorted();

export const labelsText = (labels: RunLabels | undefined): string => labelTexts(labels).join(", ");

const twoDigits = (n: number): string => String(n).padStart(2, "0");

/** Where a request came from; null where nobody knows, or where the name of the actor ends with that machine. */
export const originBeside = ({
  actor,
  from,
}: {
  readonly actor: string;
  readonly from: string | null;
}): string | null => (from === null || actor.endsWith(`@${from}`) ? null : from);

/**
 * The shortest unique prefix of a run ID, with at least eight characters after the tenant. Only the IDs in `among`
 * count.
 */
export function shortRun(run: string, among: readonly string[] = []): string {
  const start = run.indexOf("-") + 1;
  for (let length = start + 8; length < run.length; length += 1) {
    const prefix = run.slice(0, length);
    if (among.every((other) => other === run || !other.startsWith(prefix))) return prefix;
  }
  return run;
}

/**
 * Joins words to a command, quoted for a shell. npx finds the Node that cairn brought along, wherever cairn is
 * installed.
 */
export const commandLine = (words: readonly string[]): string => ["npx", "cairn", ...words].map(shellQuoted).join(" ");

/** The command that failed, for an error that the user has to correct first. The shell ignores the comment. */
export const retryAfter = (argv: readonly string[], correction: string): string =>
  `${commandLine(argv)}  # after you ${correction}`;

export const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The command that the user typed, with another value for that option. */
export function retyped({ argv }: { readonly argv: readonly string[] }, option: string, value: string): string {
  const at = argv.findIndex((word) => word === option || word.startsWith(`${option}=`));
  if (at < 0) return commandLine([...argv, option, value]);
  const after = argv[at] === option ? at + 2 : at + 1;
  return commandLine([...argv.slice(0, at), option, value, ...argv.slice(after)]);
}

/** Builds a command that a user can type, for the store in use. */
export type CommandBuilder = (...words: readonly string[]) => string;

/** When a run has to be done, after the line about its start. */
export const dueBy = (deadline?: Deadline): string =>
  deadline === undefined ? "" : `, and has to be done by ${new Date(deadline.at).toISOString()}`;

/** Which model answered, and why another one than the agent's own did. */
export const routeWords = ({ model, routed }: { readonly model?: string; readonly routed?: Routed }): string =>
  routed === undefined ? "" : ` (${model ?? "another model"}: ${routed.why})`;

/** The first signal of a failure in a line of text. */
export const crackWords = (crack: Crack): string => SIGNALS[crack];

const SIGNALS: { readonly [C in Crack]: string } = {
  runaway: "runs away",
  oscillation: "goes back and forth",
  prematureStop: "stops too early",
  cascadingPoison: "builds on something wrong",
  deadlock: "does not converge",
  capitulation: "gets worse with each round",
  stalePlan: "acts on a stale plan",
  partialExecution: "is done in part",
  lostHandoff: "lost what a worker handed over",
  bossDeath: "died while its workers were out",
  workerSilence: "hears nothing from a worker",
  rootBottleneck: "has a root that cannot keep up",
};
