/** Reads JSON that a user types, pipes or keeps in a file. An error names the line and column of the mistake. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { alteredNumbers } from "../codec/json-numbers.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import type { Json } from "../core/json.ts";
import { CliError, EXIT } from "./errors.ts";
import type { Shell } from "./shell.ts";
import { commandLine, short } from "./render/words.ts";

/** Reads JSON from the text itself, from a file (`@file`) or, where allowed, from stdin (`-`). */
export async function readJson(shell: Shell, of: { readonly option: string; readonly text: string }): Promise<Json> {
  const { option, text } = of;
  if (text === "-") return parseJson(shell, { source: "stdin", option, text: await shell.readStdin() });
  if (!text.startsWith("@")) return parseJson(shell, { source: `${option} ${short(text, 60)}`, option, text });
  const file = resolve(shell.cwd, text.slice(1));
  return parseJson(shell, { source: file, option, text: readInput(shell, { file, option }) });
}

function readInput(shell: Shell, { file, option }: { readonly file: string; readonly option: string }): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const next = retyped(shell, option, "@FILE");
    throw new CliError(
      { code: "InputUnreadable", exit: EXIT.usage, what: `${file} cannot be read`, why, next },
      { cause },
    );
  }
}

function parseJson(
  shell: Shell,
  of: { readonly source: string; readonly option: string; readonly text: string },
): Json {
  const { source, option, text } = of;
  const wrong = wrongJson(text);
  if (wrong === null) {
    refuseAltered(shell, of);
    return shallow(shell, { source, option, json: JSON.parse(text) as Json });
  }
  const what = `${source} is not JSON`;
  const why =
    text.includes('"') || text === "" ? wrong : `${wrong}; single quotes keep the shell from taking quotes away`;
  const next = retyped(shell, option, '{"name": "value"}');
  throw new CliError({ code: "BadJson", exit: EXIT.usage, what, why, next });
}

/**
 * Refuses numbers that JavaScript cannot represent exactly. Otherwise the run would get another number than the user
 * typed.
 */
function refuseAltered(
  shell: Shell,
  of: { readonly source: string; readonly option: string; readonly text: string },
): void {
  const [altered] = alteredNumbers(of.text, 1);
  if (altered === undefined) return;
  const { path, message } = altered;
  throw new CliError({
    code: "NumberAltered",
    exit: EXIT.usage,
    what: `${of.source} holds a number that cannot be kept`,
    why: path.length === 0 ? message : `at ${JSON.stringify(path.join("."))}: ${message}`,
    next: retyped(shell, of.option, '{"name": "12345678901234567890"}'),
  });
}

/** Refuses JSON that is nested too deeply. It would parse here, but every later step of its run would fail. */
function shallow(shell: Shell, of: { readonly source: string; readonly option: string; readonly json: Json }): Json {
  const { source, option, json } = of;
  if (!isTooDeep(json)) return json;
  throw new CliError({
    code: "JsonTooDeep",
    exit: EXIT.usage,
    what: `${source} cannot be kept`,
    why: TOO_DEEP,
    next: retyped(shell, option, '{"name": "value"}'),
  });
}

/**
 * Says what is wrong with a JSON text and where; null if it is valid. The engine's own message often omits the place.
 */
export function wrongJson(text: string): string | null {
  const message = complaint(text);
  if (message === null) return null;
  if (text.trim() === "") return "it is empty";
  const position = firstBad(text);
  if (position >= text.length) return `it ends too early, at ${placeIn(text, position)}`;
  return `${JSON.stringify(text[position])} is not expected at ${placeIn(text, position)}`;
}

/**
 * Finds the offset of the first error by binary search. A prefix that ends before the error can still become valid
 * JSON; no longer prefix can.
 */
function firstBad(text: string): number {
  let [good, bad] = [0, text.length + 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (couldGoOn(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
}

function couldGoOn(beginning: string): boolean {
  const message = complaint(beginning);
  if (message === null || /end of JSON|Unterminated|No number after minus|Exponent part/.test(message)) return true;
  const position = /at position (\d+)/.exec(message)?.[1];
  return position !== undefined && Number(position) >= beginning.length;
}

function complaint(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function placeIn(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  const column = (before.at(-1) ?? "").length + 1;
  return before.length === 1 ? `character ${column}` : `line ${before.length}, character ${column}`;
}

/** The command that the user typed, with another value for that option. */
export function retyped({ argv }: Pick<Shell, "argv">, option: string, value: string): string {
  const at = argv.findIndex((word) => word === option || word.startsWith(`${option}=`));
  if (at < 0) return commandLine([...argv, option, value]);
  const after = argv[at] === option ? at + 2 : at + 1;
  return commandLine([...argv.slice(0, at), option, value, ...argv.slice(after)]);
}
