/**
 * Splits JavaScript into tokens, without comments. The loader reads imports, exports and decorators from them. It has no
 * grammar: a text that ends within a string, a template or a regular expression gives null, and nothing is read from it.
 */

export interface Token {
  readonly kind: "name" | "text" | "sign" | "other";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** After these words a slash begins a regular expression. */
const BEFORE_EXPRESSION = new Set(
  "return typeof case in of delete void throw new instanceof yield await else do default extends".split(" "),
);

const NAME = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const SPACE = /(?:\s+|\/\/[^\n\r]*|\/\*[^]*?\*\/)+/y;
const TEXT = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y;
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;

/** The tokens of `source`; null if it cannot be read. */
export function tokensOf(source: string): readonly Token[] | null {
  const tokens: Token[] = [];
  /** For each open brace: whether it is that of `${` in a template. */
  const braces: boolean[] = [];
  let at = source.startsWith("#!") ? Math.max(0, source.search(/[\n\r]/)) : 0;

  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0] ?? null;
  };
  const take = (kind: Token["kind"], text: string): void => {
    tokens.push({ kind, text, start: at, end: at + text.length });
    at += text.length;
  };
  /** Reads a template up to its end or its next `${`. */
  const readTemplate = (): boolean => {
    take("other", match(TEMPLATE) ?? "");
    if (source[at] === "`") return (take("other", "`"), true);
    if (!source.startsWith("${", at)) return false;
    braces.push(true);
    take("sign", "${");
    return true;
  };

  while (at < source.length) {
    const space = match(SPACE);
    if (space !== null) {
      at += space.length;
      continue;
    }
    const char = source[at] ?? "";
    const name = match(NAME);
    if (name !== null) take("name", name);
    else if (char === '"' || char === "'") {
      const text = match(TEXT);
      if (text === null) return null;
      take("text", text);
    } else if (char === "`") {
      take("other", "`");
      if (!readTemplate()) return null;
    } else if (char === "}" && braces.pop() === true) {
      take("sign", "}");
      if (!readTemplate()) return null;
    } else if (char === "/" && beginsExpression(tokens.at(-1))) {
      const regex = match(REGEX);
      if (regex === null) return null;
      take("other", regex);
    } else {
      if (char === "{") braces.push(false);
      const number = match(NUMBER);
      if (number === null) take("sign", source.startsWith("...", at) ? "..." : char);
      else take("other", number);
    }
  }
  return braces.length === 0 ? tokens : null;
}

function beginsExpression(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === "name") return BEFORE_EXPRESSION.has(before.text);
  return before.kind === "sign" && ![")", "]", "}"].includes(before.text);
}
