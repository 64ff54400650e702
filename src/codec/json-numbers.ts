/**
 * Finds numbers in a JSON text that `JSON.parse` would change. It silently rounds integers beyond 2^53 - 1, so an order
 * number of 19 digits would name another order. It reads 1e400 as infinity, which JSON then writes as null.
 *
 * This is a scan of the text, because Node 20 does not pass the source text to a reviver.
 */
export interface AlteredNumber {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** At most `max` such numbers with their paths. Empty if the text is not JSON, which the caller's parser refuses. */
export function alteredNumbers(text: string, max: number): readonly AlteredNumber[] {
  if (!SUSPECT.test(text) || !isJson(text)) return [];
  const found: AlteredNumber[] = [];
  const open: Open[] = [];
  for (const [token] of text.matchAll(TOKENS)) {
    if (found.length >= max) break;
    const inner = open.at(-1);
    if (token === "[") open.push({ isList: true, at: 0, isName: false });
    else if (token === "{") open.push({ isList: false, at: "", isName: true });
    else if (token === "]" || token === "}") open.pop();
    else if (token === ",") advance(inner);
    else if (token.startsWith('"')) name(inner, token);
    else if (isAltered(token)) found.push({ path: open.map(({ at }) => at), message: messageFor(token) });
  }
  return found;
}

/** A list or object that encloses the current position, with the index or name of its current member. */
interface Open {
  readonly isList: boolean;
  at: string | number;
  /** The next string is the name of a member. */
  isName: boolean;
}

/** Only texts with 16 digits in a row or with an exponent can contain such a number. */
const SUSPECT = /\d{16}|\d[eE]/;

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{},]/g;

/** Whether the text is complete JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function advance(inner: Open | undefined): void {
  if (inner === undefined) return;
  if (inner.isList) inner.at = Number(inner.at) + 1;
  else inner.isName = true;
}

function name(inner: Open | undefined, token: string): void {
  if (inner === undefined || !inner.isName) return;
  inner.at = JSON.parse(token) as string;
  inner.isName = false;
}

function isAltered(token: string): boolean {
  const value = Number(token);
  return !Number.isFinite(value) || (/^-?\d+$/.test(token) && !Number.isSafeInteger(value));
}

const messageFor = (token: string): string =>
  `${token.slice(0, SHOWN)}${token.length > SHOWN ? "…" : ""} cannot be kept as a number: integers go from ` +
  `-${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}; send it as a string, in quotes`;

const SHOWN = 40;
