/** Compares what a command printed with `--json` with the schema that `docs/json-schemas.json` has for it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { JsonSchemas } from "../../../scripts/docs/json-page.ts";

const FILE = join(import.meta.dirname, "..", "..", "..", "docs", "json-schemas.json");
type AsZod = Parameters<typeof z.fromJSONSchema>[0];

let read: JsonSchemas | undefined;
const schemas = (): JsonSchemas => (read ??= JSON.parse(readFileSync(FILE, "utf8")) as JsonSchemas);

const compiled = new Map<string, z.ZodType>();

/** What each document or line of a command must be. */
function schemaOf(command: string): z.ZodType {
  const known = compiled.get(command);
  if (known !== undefined) return known;
  const { commands, error, $defs } = schemas();
  const { document, line } = commands[command] ?? {};
  const anyOf = [document, line, error].filter((each) => each !== undefined);
  const schema = z.fromJSONSchema({ anyOf, $defs } as AsZod);
  compiled.set(command, schema);
  return schema;
}

/** The command that the words begin with; null if it prints no JSON of its own. */
function commandOf(words: readonly string[]): string | null {
  // The file itself is on stdout then.
  if (words[0] === "export" && words.includes("-")) return null;
  const typed = words.slice(0, 2).join(" ");
  return [typed, words[0] ?? ""].find((each) => Object.hasOwn(schemas().commands, each)) ?? null;
}

/** One document, or a line for each. */
function documentsIn(out: string): readonly unknown[] {
  if (out.trim() === "") return [];
  try {
    return [JSON.parse(out)];
  } catch {
    return out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  }
}

/** The command whose schema the output met; null: no command with a schema. Throws what does not fit. */
export function fitPrinted(words: readonly string[], out: string): string | null {
  const command = commandOf(words);
  if (command === null) return null;
  for (const document of documentsIn(out)) {
    const { error } = schemaOf(command).safeParse(document);
    if (error !== undefined) {
      const todo = "docs/json-schemas.json has another form: npm run json-schemas, and look at the change";
      throw new Error(
        `\`cairn ${command} --json\` printed ${JSON.stringify(document)}\n${z.prettifyError(error)}\n${todo}`,
      );
    }
  }
  return command;
}
