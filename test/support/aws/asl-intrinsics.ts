/** The intrinsic functions of the Amazon States Language that cairn's definition calls, per its specification. */

type Argument = unknown;

interface Calls {
  /** The value of a path in the input or the context object. */
  readonly at: (path: string) => unknown;
  /** 0 <= x < 1. */
  readonly draw: () => number;
}

const FUNCTIONS: Readonly<Record<string, (args: readonly Argument[], calls: Calls) => unknown>> = {
  "States.MathAdd": ([one, other]) => integer(one) + integer(other),
  // The end is exclusive.
  "States.MathRandom": ([start, end], { draw }) => {
    const [least, most] = [integer(start), integer(end)];
    if (least >= most) throw new Error(`there is nothing between ${least} and ${most}`);
    return least + Math.floor(draw() * (most - least));
  },
  // Nothing in our template is escaped.
  "States.Format": ([template, ...values]) => {
    const parts = string(template).split("{}");
    if (parts.length !== values.length + 1) throw new Error(`${values.length} values for ${parts.length - 1} places`);
    return parts.map((part, index) => (index === 0 ? part : `${string(values[index - 1])}${part}`)).join("");
  },
  "States.StringToJson": ([text]) => JSON.parse(string(text)) as unknown,
  "States.Base64Decode": ([text]) => Buffer.from(string(text), "base64").toString(),
  // Each of the characters is a separator, and empty parts are dropped.
  "States.StringSplit": ([text, by]) =>
    [...string(by)]
      .reduce((parts, mark) => parts.flatMap((part) => part.split(mark)), [string(text)])
      .filter((part) => part !== ""),
  "States.ArrayGetItem": ([list, index]) => {
    const found = (list as readonly unknown[])[integer(index)];
    if (found === undefined) throw new Error(`there is no ${integer(index)}. in ${JSON.stringify(list)}`);
    return found;
  },
};

function integer(value: unknown): number {
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
  throw new Error(`${JSON.stringify(value)} is no integer of 32 bits`);
}

function string(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error(`${JSON.stringify(value)} is no string`);
}

/** A path, or a call whose arguments are paths, numbers, strings in single quotes and calls. */
export function evaluated(expression: string, calls: Calls): unknown {
  const [value, rest] = term(expression, calls);
  if (rest !== "") throw new Error(`what does ${rest} mean in ${expression}?`);
  return value;
}

/** The first token of a text, and the rest. */
function term(text: string, calls: Calls): readonly [value: unknown, rest: string] {
  const [path] = /^\$[\w$.]*/.exec(text) ?? [];
  if (path !== undefined) return [calls.at(path), text.slice(path.length)];
  const [quoted, inner = ""] = /^'([^'\\]*)'/.exec(text) ?? [];
  if (quoted !== undefined) return [inner, text.slice(quoted.length)];
  const [number] = /^-?\d+/.exec(text) ?? [];
  if (number !== undefined) return [Number(number), text.slice(number.length)];
  const [opened, name = ""] = /^(States\.\w+)\(/.exec(text) ?? [];
  const called = FUNCTIONS[name];
  if (opened === undefined || called === undefined) throw new Error(`what does ${text} mean?`);
  const args: unknown[] = [];
  let rest = text.slice(opened.length);
  for (;;) {
    const [value, after] = term(rest, calls);
    args.push(value);
    const [closed, mark] = /^\s*([,)])\s*/.exec(after) ?? [];
    if (closed === undefined) throw new Error(`${text} does not end`);
    rest = after.slice(mark === "," ? closed.length : closed.trimEnd().length);
    if (mark === ")") return [called(args, calls), rest];
  }
}
