/** Parses the arguments of a tool call from the text that a model sent. */
import { alteredNumbers } from "./json-numbers.ts";
import { type Parsed, asJson, sentenceOf } from "./value.ts";

/**
 * The arguments that a model sent as JSON text. Empty text means no arguments, because some providers send it so.
 * A number that JavaScript would round is refused: otherwise the call could affect another order than the model named.
 */
export function parseArguments(raw: string): Parsed {
  if (raw.trim() === "") return { ok: true, json: {} };
  const [altered] = alteredNumbers(raw, 1);
  if (altered !== undefined)
    return { ok: false, why: `at ${JSON.stringify(altered.path.join("."))}: ${altered.message}` };
  try {
    return asJson(JSON.parse(raw));
  } catch (error) {
    return { ok: false, why: `it is not JSON: ${sentenceOf(error)}` };
  }
}
