/**
 * Numbers in a JSON text that JavaScript would read as other numbers. `JSON.parse` rounds an integer beyond 2^53 - 1 in
 * silence, so an order number of 19 digits would name another order; it reads 1e400 as infinity, which JSON writes as null.
 *
 * A scan of the text, since Node 20 gives a reviver no source text. It looks only at texts that are JSON.
 */
export interface AlteredNumber {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Every such number with its path, `max` at most. Nothing where the text is no JSON: its reader refuses that. */
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

/** A list or object that the scan is in, and at which of its members. */
interface Open {
  readonly isList: boolean;
  at: string | number;
  /** The next text is the name of a member. */
  isName: boolean;
}

/** Without 16 digits in a row and without an exponent no number is altered. */
const SUSPECT = /\d{16}|\d[eE]/;

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{},]/g;

function isJson(text: string): boolean {
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
  `-${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}; send it as a text, in quotes`;

const SHOWN = 40;
