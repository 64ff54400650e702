/** The files that are derived from the operations, which must load none of them. `npm run derive` writes them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Flag, FlagsOf, Syntax, Syntaxes } from "../src/operations/syntax.ts";
import { openApiDocument } from "../src/api/document.ts";
import { ROWS } from "../src/operations/table.ts";

const OPERATIONS = join(import.meta.dirname, "..", "src", "operations");
const WRITTEN = "Written by `npm run derive` from the operation table: change the file of the operation.";

/** Where the routes of the operations are, and whether a change there is safe to send again. */
function placesText(): string {
  const { paths } = openApiDocument({ hasChats: false }) as { readonly paths: Described };
  const places = Object.entries(ROWS).flatMap(([name, { http }]) => {
    if (http === undefined) return [];
    const { method, path, repeatable } = http;
    const isKeyed = paths[path]?.[method]?.parameters?.some((each) => each.name === "Idempotency-Key") ?? false;
    const words = [method, path, ...(repeatable === true ? ["again"] : isKeyed ? ["withKey"] : [])];
    return [`  ${name}: [${words.map((word) => `"${word}"`).join(", ")}],`];
  });
  return `/**
 * Where the operations are. \`again\`: a change that may be sent again; \`withKey\`: it takes an idempotency key.
 * ${WRITTEN}
 */
export const PLACES = {
${places.join("\n")}
} as const;

/** An operation that has a route. */
export type RoutedOperation = keyof typeof PLACES;

/** The names in braces of a path. */
export type FieldsIn<Path extends string> = Path extends \`\${string}{\${infer Field}}\${infer Rest}\`
  ? readonly [Field, ...FieldsIn<Rest>]
  : readonly [];
`;
}

/** What the document of the API says of a route. */
type Described = Readonly<
  Record<string, Readonly<Record<string, { readonly parameters?: readonly { readonly name: string }[] }>>>
>;

/** The syntax that each operation exports beside its row. */
async function syntaxes(): Promise<Readonly<Record<string, Syntaxes>>> {
  const files = readdirSync(OPERATIONS, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".operation.ts"),
  );
  const modules = await Promise.all(
    files.map((file) => import(join(OPERATIONS, file)) as Promise<Record<string, () => Syntaxes>>),
  );
  const found = modules.flatMap((each) => Object.entries(each).filter(([name]) => name.endsWith("Syntax")));
  return Object.fromEntries(found.map(([name, syntax]) => [name.replace(/Syntax$/, ""), syntax()]));
}

/** The commands of the operations, in the order of the table. */
async function commandsText(): Promise<string> {
  const all = await syntaxes();
  const commands = Object.entries(ROWS).flatMap(([operation, { typed, help: helpOfRow }]) =>
    typed.flatMap(({ command, option, help = helpOfRow }) => {
      const typedWords = option === undefined ? command : `${command} ${option}`;
      const syntax = all[operation]?.[typedWords];
      if (syntax === undefined) throw new Error(`the file of ${operation} has no syntax of \`${typedWords}\``);
      if (option !== undefined) return [];
      const { flags = [], after, group = "Others", ...rest } = syntax;
      const end = `${after ?? ""}${actionsOf(command, all)}`;
      const row = { command, operation, group, help, ...rest, flags: flags.flatMap((flag) => flagsIn(flag, all)) };
      return [end === "" ? row : { ...row, after: end }];
    }),
  );
  return `/**
 * The commands of the operations. ${WRITTEN}
 * More than 400 lines: it has each option of each command.
 */
import type { TypedCommand } from "./typed-command.ts";

export const COMMANDS: readonly TypedCommand[] = ${written(commands, "")};
`;
}

const flagsIn = (flag: Flag | FlagsOf, all: Readonly<Record<string, Syntaxes>>): readonly Flag[] =>
  "flagsOf" in flag
    ? Object.values<Syntax>(all[flag.flagsOf] ?? {}).flatMap(({ flags = [] }) =>
        flags.flatMap((each) => flagsIn(each, all)),
      )
    : [flag];

/** The operations that a word after the command selects, such as `schedules pause`. */
function actionsOf(command: string, all: Readonly<Record<string, Syntaxes>>): string {
  const actions = Object.entries(ROWS).flatMap(([operation, { typed, help }]) =>
    typed.flatMap(({ command: own, option = "--" }) =>
      own === command && !option.startsWith("--")
        ? [[`${option} ${all[operation]?.[`${command} ${option}`]?.words ?? ""}`, help] as const]
        : [],
    ),
  );
  if (actions.length === 0) return "";
  const width = Math.max(...actions.map(([words]) => words.length));
  return ["\nActions:", ...actions.map(([words, help]) => `  ${words.padEnd(width)}  ${help}`)].join("\n");
}

const WIDTH = 120;

/** A value as the formatter writes it. `before`: how much of its line is taken. */
function written(value: unknown, indent: string, before = 0): string {
  const line = inline(value);
  if (line !== null && indent.length + before + line.length < WIDTH) return line;
  const deeper = `${indent}  `;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value))
    return `[\n${value.map((each) => `${deeper}${written(each, deeper)},\n`).join("")}${indent}]`;
  const fields = Object.entries(value).map(([name, field]) => {
    const text = written(field, deeper, name.length + 2);
    // The formatter breaks the line after a name only if the name is long enough for it to pay.
    const isLong =
      typeof field === "string" && name.length > 4 && deeper.length + name.length + text.length + 3 > WIDTH;
    return `${deeper}${name}:${isLong ? `\n${deeper}  ` : " "}${text},\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

/** The value on one line; null: the formatter writes none for several objects of several fields. */
function inline(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Object.entries(value).map(([name, field]) => {
    const text = inline(field);
    return text === null || Array.isArray(value) ? text : `${name}: ${text}`;
  });
  if (parts.includes(null)) return null;
  if (!Array.isArray(value)) return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
  const areObjects = value.every((each) => typeof each === "object" && each !== null && Object.keys(each).length > 1);
  return areObjects && value.length > 1 ? null : `[${parts.join(", ")}]`;
}

/** The text of each derived file, by its path. */
export const derivedFiles = async (): Promise<Readonly<Record<string, string>>> => ({
  "src/operations/places.ts": placesText(),
  "src/cli/commands.ts": await commandsText(),
});
