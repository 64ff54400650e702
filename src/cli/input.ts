/** Reads JSON that a user types, pipes or keeps in a file. An error names the line and column of the mistake. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { alteredNumbers } from "../codec/json-numbers.ts";
import { TOO_DEEP, isTooDeep } from "../codec/to-json.ts";
import { utf8Of } from "../codec/utf8.ts";
import { type RunLabels, wrongWithLabels } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import type { Shell } from "./shell.ts";
import { retyped, short } from "../render/words.ts";

/** Reads JSON from the text itself, from a file (`@file`) or, where allowed, from stdin (`-`). */
export async function readJson(
  shell: Shell,
  { option, text }: { readonly option: string; readonly text: string },
): Promise<Json> {
  if (text === "-") {
    const read = readAs(shell, { source: "stdin", option, bytes: await shell.readStdin() });
    return parseJson(shell, { source: "stdin", option, text: read });
  }
  if (!text.startsWith("@")) return parseJson(shell, { source: `${option} ${short(text, 60)}`, option, text });
  const file = resolve(shell.cwd, text.slice(1));
  const read = readAs(shell, { source: file, option, bytes: readInput(shell, { file, option }) });
  return parseJson(shell, { source: file, option, text: read });
}

/** The labels that a user typed, each as `team=ops`. */
export function typedLabels(shell: Shell, texts: readonly string[] = []): RunLabels {
  const all = texts.map((text) => /^([^=]*)=(.*)$/s.exec(text)?.slice(1) ?? [text, ""]);
  const labels = Object.fromEntries(all) as RunLabels;
  const twice = all.length > Object.keys(labels).length ? "a label is given twice, and has one value" : null;
  const why = twice ?? wrongWithLabels(labels);
  if (why === null) return labels;
  const next = retyped(shell, "--label", "team=ops");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: "the labels cannot be used", why, next });
}

/** The text of a file or of stdin, which has to be UTF-8. */
function readAs(
  shell: Shell,
  { source, option, bytes }: { readonly source: string; readonly option: string; readonly bytes: Uint8Array },
): string {
  const read = utf8Of(bytes);
  if (read.ok) return read.text;
  const what = `${source} cannot be read as text`;
  const why = `${read.why}; iconv -f ENCODING -t UTF-8 FILE converts it`;
  throw new UserError({ code: "InputEncoding", exit: EXIT.usage, what, why, next: retyped(shell, option, "@FILE") });
}

function readInput(shell: Shell, { file, option }: { readonly file: string; readonly option: string }): Uint8Array {
  try {
    return readFileSync(file);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const next = retyped(shell, option, "@FILE");
    throw new UserError(
      { code: "InputUnreadable", exit: EXIT.usage, what: `${file} cannot be read`, why, next },
      { cause },
    );
  }
}

function parseJson(
  shell: Shell,
  typed: { readonly source: string; readonly option: string; readonly text: string },
): Json {
  const { source, option, text } = typed;
  const wrong = wrongJson(text);
  if (wrong === null) {
    refuseAltered(shell, typed);
    return shallow(shell, { source, option, json: JSON.parse(text) as Json });
  }
  const what = `${source} is not JSON`;
  const why =
    text.includes('"') || text === "" ? wrong : `${wrong}; single quotes keep the shell from taking quotes away`;
  const next = retyped(shell, option, '{"name": "value"}');
  throw new UserError({ code: "BadJson", exit: EXIT.usage, what, why, next });
}

/**
 * Refuses numbers that JavaScript cannot represent exactly. Otherwise the run would get another number than the user
 * typed.
 */
function refuseAltered(
  shell: Shell,
  { text, source, option }: { readonly source: string; readonly option: string; readonly text: string },
): void {
  const [altered] = alteredNumbers(text, 1);
  if (altered === undefined) return;
  const { path, message } = altered;
  throw new UserError({
    code: "NumberAltered",
    exit: EXIT.usage,
    what: `${source} holds a number that cannot be kept`,
    why: path.length === 0 ? message : `at ${JSON.stringify(path.join("."))}: ${message}`,
    next: retyped(shell, option, '{"name": "12345678901234567890"}'),
  });
}

/** Refuses JSON that is nested too deeply. It would parse here, but every later step of its run would fail. */
function shallow(
  shell: Shell,
  { source, option, json }: { readonly source: string; readonly option: string; readonly json: Json },
): Json {
  if (!isTooDeep(json)) return json;
  throw new UserError({
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
