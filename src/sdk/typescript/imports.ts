/**
 * Imports and exports of types that are not marked as such. The TypeScript compiler leaves out what is never used as a
 * value; Node takes off types file by file and keeps it, and then the module that it names has no such export.
 */
import type { Token } from "./tokens.ts";

/** A part of a text that is replaced by spaces, so that all other places stay. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
}

interface Binding extends TextPart {
  readonly local: string;
}

interface Import extends TextPart {
  readonly bindings: readonly Binding[];
}

/** A name that a module exports from another one. */
export interface Reexport extends TextPart {
  readonly name: string;
  readonly from: string;
}

export const blank = (source: string, parts: readonly TextPart[]): string =>
  parts.reduce(
    (text, { start, end }) =>
      text.slice(0, start) + text.slice(start, end).replaceAll(/[^\n\r]/g, " ") + text.slice(end),
    source,
  );

/** The imports of JavaScript that nothing in it uses as a value. */
export function unusedImports(tokens: readonly Token[]): readonly TextPart[] {
  const imports = importsIn(tokens);
  if (imports.length === 0) return [];
  const used = new Set<string>();
  let index = 0;
  for (const [place, token] of tokens.entries()) {
    while ((imports[index]?.end ?? Infinity) <= token.start) index += 1;
    if (token.kind === "name" && token.start < (imports[index]?.start ?? Infinity) && isUse(tokens, place)) {
      used.add(token.text);
    }
  }
  return imports.flatMap(({ start, end, bindings }) => {
    const unused = bindings.filter(({ local }) => !used.has(local));
    // A statement without bindings is imported for what it does.
    if (bindings.length > 0 && unused.length === bindings.length) return [{ start, end }];
    return unused;
  });
}

/** Not the name of a property: `x.Name`, `{ Name: 1 }`. */
function isUse(tokens: readonly Token[], place: number): boolean {
  const [before, after] = [tokens[place - 1]?.text, tokens[place + 1]?.text];
  if (before === ".") return false;
  return !(after === ":" && (before === "{" || before === ","));
}

/** The import statements. One whose form is not known counts as used. */
function importsIn(tokens: readonly Token[]): readonly Import[] {
  const found: Import[] = [];
  let depth = 0;
  for (const [place, token] of tokens.entries()) {
    if (token.kind === "sign") depth += depthOf(token.text);
    if (depth !== 0 || token.kind !== "name" || token.text !== "import") continue;
    if (tokens[place - 1]?.text === ".") continue;
    const statement = importAt(tokens, place);
    if (statement !== null) found.push(statement);
  }
  return found;
}

const depthOf = (sign: string): number =>
  sign === "{" || sign === "(" || sign === "[" || sign === "${"
    ? 1
    : sign === "}" || sign === ")" || sign === "]"
      ? -1
      : 0;

/** The statement that begins with the `import` at `place`; null for `import "x"`, `import("x")` and `import.meta`. */
function importAt(tokens: readonly Token[], place: number): Import | null {
  const first = tokens[place];
  const from = tokens.findIndex(
    ({ kind, text }, at) =>
      at > place && (kind === "text" || /^[;(.]$/.test(text) || (text === "from" && tokens[at + 1]?.kind === "text")),
  );
  const source = tokens[from + 1];
  if (first === undefined || tokens[from]?.text !== "from" || source === undefined) return null;
  const bindings = bindingsIn(tokens.slice(place + 1, from));
  if (bindings === null) return null;
  const next = tokens[from + 2];
  const end = attributesEnd(tokens, from + 2) ?? (next?.text === ";" ? next.end : source.end);
  return { start: first.start, end, bindings };
}

/** Where the attributes of an import end, `with { type: "json" }`; null if it has none. */
function attributesEnd(tokens: readonly Token[], at: number): number | null {
  if (tokens[at]?.text !== "with" || tokens[at + 1]?.text !== "{") return null;
  const close = tokens.findIndex(({ text }, place) => place > at && text === "}");
  return (tokens[close + 1]?.text === ";" ? tokens[close + 1] : tokens[close])?.end ?? null;
}

/** The bindings of an import clause; null if its form is not known. */
function bindingsIn(clause: readonly Token[]): readonly Binding[] | null {
  const bindings: Binding[] = [];
  let at = 0;
  const [first] = clause;
  if (first?.kind === "name") {
    const comma = clause[1];
    if (comma !== undefined && comma.text !== ",") return null;
    bindings.push({ local: first.text, start: first.start, end: (comma ?? first).end });
    at = comma === undefined ? 1 : 2;
  }
  if (clause[at]?.text === "*") {
    const [star, as, name] = clause.slice(at);
    if (star === undefined || as?.text !== "as" || name?.kind !== "name" || clause.length !== at + 3) return null;
    // Beside a default import it stays: their comma belongs to both.
    return bindings.length > 0 ? null : [{ local: name.text, start: star.start, end: name.end }];
  }
  if (clause[at]?.text === "{") {
    const named = namedIn(clause, at);
    if (named === null || named.end !== clause.length) return null;
    return [...bindings, ...named.names.map(({ local, start, end }) => ({ local, start, end }))];
  }
  return at === clause.length && bindings.length > 0 ? bindings : null;
}

interface Named extends TextPart {
  readonly name: string;
  readonly local: string;
}

/** The names between `{` at `open` and `}`, each with the comma that follows it. */
function namedIn(
  tokens: readonly Token[],
  open: number,
): { readonly names: readonly Named[]; readonly end: number } | null {
  const names: Named[] = [];
  let at = open + 1;
  for (;;) {
    const token = tokens[at];
    if (token === undefined) return null;
    if (token.text === "}") return { names, end: at + 1 };
    if (token.kind !== "name" && token.kind !== "text") return null;
    const isRenamed = tokens[at + 1]?.text === "as";
    const last = isRenamed ? tokens[at + 2] : token;
    if (last === undefined) return null;
    at += isRenamed ? 3 : 1;
    const comma = tokens[at];
    if (comma?.text === ",") at += 1;
    else if (comma?.text !== "}") return null;
    names.push({
      name: token.text,
      local: last.text,
      start: token.start,
      end: comma.text === "," ? comma.end : last.end,
    });
  }
}

/** What JavaScript exports by name from other modules, directly or by an import. */
export function reexportsIn(tokens: readonly Token[]): readonly Reexport[] {
  const imported = new Map<string, { readonly name: string; readonly from: string }>();
  const found: Reexport[] = [];
  let depth = 0;
  for (const [place, token] of tokens.entries()) {
    if (token.kind === "sign") depth += depthOf(token.text);
    if (depth !== 0 || token.kind !== "name" || tokens[place + 1]?.text !== "{") continue;
    if (token.text !== "import" && token.text !== "export") continue;
    const named = namedIn(tokens, place + 1);
    if (named === null) continue;
    const from = tokens[named.end]?.text === "from" ? tokens[named.end + 1] : undefined;
    const module = from?.kind === "text" ? from.text.slice(1, -1) : null;
    for (const { name, local, start, end } of named.names) {
      if (token.text === "import" && module !== null) imported.set(local, { name, from: module });
      if (token.text === "export" && module !== null) found.push({ name, from: module, start, end });
      const origin = module === null && token.text === "export" ? imported.get(name) : undefined;
      if (origin !== undefined) found.push({ ...origin, start, end });
    }
  }
  return found;
}

/** What JavaScript exports though nothing in it has that name: a type, which was taken off. */
export function undeclaredExports(tokens: readonly Token[]): readonly TextPart[] {
  const found: Named[] = [];
  const counts = new Map<string, number>();
  for (const [place, { kind, text }] of tokens.entries()) {
    if (kind !== "name") continue;
    if (tokens[place - 1]?.text !== ".") counts.set(text, (counts.get(text) ?? 0) + 1);
    if (text !== "export" || tokens[place + 1]?.text !== "{") continue;
    const named = namedIn(tokens, place + 1);
    if (named !== null && tokens[named.end]?.text !== "from") found.push(...named.names);
  }
  return found.filter(({ name }) => counts.get(name) === found.filter((each) => each.name === name).length);
}
