/** JSON as a module: its value is the default export, and each field that can be a name is an export too. */
import { readFileSync } from "node:fs";

const RESERVED = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public " +
    "return static super switch this throw true try typeof var void while with yield"
  ).split(" "),
);

/** Throws `SyntaxError` with the name of the file. */
export function jsonModule(file: string): string {
  const text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${file} is not JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const fields = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  const names = fields.filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && !RESERVED.has(key));
  // `__proto__` of JSON is a field, and that of a literal is not. So the text is parsed.
  const json = names.includes("json") ? "json$" : "json";
  const exports = names.map((name) => `export const ${name} = ${json}[${JSON.stringify(name)}];`);
  return [`const ${json} = JSON.parse(${JSON.stringify(text)});`, `export default ${json};`, ...exports].join("\n");
}
