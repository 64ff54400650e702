/** The arguments of a tool call, as a model writes them. */
import { alteredNumbers } from "./json-numbers.ts";
import { type Parsed, asJson, sentenceOf } from "./value.ts";

/**
 * The arguments that a model sent as text. No text at all is how some providers call a tool without arguments. A number that
 * would be read as another one is refused: the call would be of another order than the model meant.
 */
export function parseArguments(raw: string): Parsed {
  if (raw.trim() === "") return { ok: true, json: {} };
  const [altered] = alteredNumbers(raw, 1);
  if (altered !== undefined)
    return { ok: false, why: `at ${JSON.stringify(altered.path.join("."))}: ${altered.message}` };
  try {
    return asJson(JSON.parse(raw));
  } catch (error) {
    return { ok: false, why: `it is no JSON: ${sentenceOf(error)}` };
  }
}
