/**
 * The index of error codes, `docs/errors.md`, read from the sources: each object with a literal `code` and a sentence
 * beside it. So an error that is added, renamed or worded anew cannot be missing or stale there.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../src/compose/user-error.ts";
import type { OutcomeReport } from "../src/operations/operation.ts";
import { ROWS } from "../src/operations/table.ts";
import { type Node, readSource } from "../test/support/rules/source.ts";

interface Place {
  readonly code: string;
  readonly exit: string | null;
  readonly status: string | null;
  readonly what: string;
  readonly why: string;
  readonly next: string;
  readonly file: string;
}

/** Where a user meets the code, by the folder that makes it. */
const SURFACES: readonly (readonly [folder: RegExp, surface: string])[] = [
  [/^src\/operations\//, "command line, API"],
  [/^src\/(api|server|integrations)\//, "API"],
  [/^src\/(cli|compose|doctor|chaos|workers|render)\//, "command line"],
  [/^src\/(engine|core|providers|mcp-tools|history|protocol|codec|effects)\//, "run"],
  [/^src\/(sdk|embed|client|testing|langgraph)\//, "your code"],
  [/^src\/adapters\//, "store"],
];

export function errorIndex(root: string): string {
  const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const places = files.toSorted().flatMap((file) => placesIn(root, join("src", file)));
  const codes = Map.groupBy([...outcomes(), ...places], ({ code }) => code);
  const rows = [...codes].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([code, all]) => rowOf(code, all));
  return `# Error codes

**Every error has a code that stays, what happened, why, and what to type next.** \`npm run derive\` writes this page from the
sources. The command line prints the code after \`error\`, the API has it in \`code\` of a problem document, and a run in
\`failure\` or in the outcome of a call. \`…\` stands for what an error names.

| code | where | exit, status | what happened | why, and what next |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

function rowOf(code: string, places: readonly Place[]): string {
  const joined = (take: (place: Place) => string | null): string =>
    [...new Set(places.map(take).filter((text) => text !== null && text !== ""))].slice(0, TEXTS_MAX).join("; or: ");
  const surfaces = new Set(
    places.flatMap(({ file }) => SURFACES.find(([folder]) => folder.test(file))?.[1].split(", ") ?? ["package"]),
  );
  const ends = [joined(({ exit }) => exit), joined(({ status }) => status)].filter((text) => text !== "").join(", ");
  const next = joined((place) => place.next);
  const reason = [joined(({ why }) => why), next === "" ? "" : `next: ${next}`]
    .filter((text) => text !== "")
    .join("; ");
  return `| \`${code}\` | ${[...surfaces].join(", ")} | ${ends} | ${joined(({ what }) => what)} | ${reason} |`;
}

const TEXTS_MAX = 3;

function placesIn(root: string, file: string): readonly Place[] {
  const text = readFileSync(join(root, file), "utf8");
  const places: Place[] = [];
  readSource(file, text, (node) => {
    const place = node.type === "ObjectExpression" ? placeOf(node, text) : thrownAt(node, text);
    if (place !== null && /\w/.test(place.what)) places.push({ ...place, file });
  });
  return places;
}

/** Null: the object is no error, or has no sentence. */
function placeOf(node: Node, source: string): Omit<Place, "file"> | null {
  const fields = fieldsOf(node);
  const code = fields.get("code")?.["value"];
  if (typeof code !== "string" || !CODE.test(code)) return null;
  const text = (...names: readonly string[]): string => {
    const found = names.map((name) => fields.get(name)).find((value) => value !== undefined);
    return found === undefined ? "" : said(found, source);
  };
  const [what, why] = [text("what", "detail", "message", "says"), text("why")];
  if (what === "" && why === "") return null;
  const status = fields.get("status")?.["value"];
  return {
    ...{ code, what: what === "" ? why : what, why: what === "" ? "" : why, next: text("next") },
    exit: exitOf(fields.get("exit"), source),
    status: typeof status === "number" ? String(status) : null,
  };
}

/** An error whose code is given before what it says: `new BackupRefused("RestoreRefused", { what, why })`. */
function thrownAt(node: Node, source: string): Omit<Place, "file"> | null {
  if (node.type !== "NewExpression") return null;
  const [first, second] = node["arguments"] as readonly Node[];
  const code = first?.["value"];
  if (typeof code !== "string" || second?.type !== "ObjectExpression" || !CODE.test(code)) return null;
  const fields = fieldsOf(second);
  const text = (name: string): string => (fields.has(name) ? said(fields.get(name) as Node, source) : "");
  const [what, why] = [text("what"), text("why")];
  return {
    code,
    what: what === "" ? why : what,
    why: what === "" ? "" : why,
    next: text("next"),
    exit: null,
    status: null,
  };
}

const CODE = /^[A-Z][a-z]+[A-Za-z]*$/;

/** The errors that the outcomes of the operations are. */
const outcomes = (): readonly Place[] =>
  Object.values(ROWS).flatMap(({ outcomes: all }) =>
    Object.values<OutcomeReport>(all).flatMap(({ code, says, exit, status }) =>
      code === null
        ? []
        : [
            {
              ...{ code, what: says, why: "", next: "", file: "src/operations/table.ts" },
              ...{ exit: `exit ${EXITS[exit]}`, status: String(status) },
            },
          ],
    ),
  );

/** The properties of an object, those of literals that are spread into it included. */
function fieldsOf(node: Node): ReadonlyMap<string, Node> {
  const fields = new Map<string, Node>();
  for (const property of node["properties"] as readonly Node[]) {
    const spread = property["argument"] as Node | undefined;
    if (spread?.type === "ObjectExpression") for (const [name, value] of fieldsOf(spread)) fields.set(name, value);
    const key = property["key"] as Node | undefined;
    if (key?.type === "Identifier") fields.set(String(key["name"]), property["value"] as Node);
  }
  return fields;
}

const EXITS: Readonly<Record<string, number>> = EXIT;

function exitOf(value: Node | undefined, source: string): string | null {
  const name = value === undefined ? "" : source.slice(value.start, value.end).split(".").at(-1)?.replaceAll('"', "");
  const exit = EXITS[name ?? ""];
  return exit === undefined ? null : `exit ${exit}`;
}

/** The words of an expression; what it names is `…`. Empty: it has no words of its own. */
function said(value: Node, source: string): string {
  const part = (field: string): string => said(value[field] as Node, source);
  switch (value.type) {
    case "Literal":
      return typeof value["value"] === "string" ? cell(value["value"]) : "";
    case "TemplateLiteral":
      return cell((value["quasis"] as readonly Quasi[]).map((each) => each.value.cooked).join("…"));
    case "ConditionalExpression":
      return [part("consequent"), part("alternate")].filter((text) => text !== "").join("; or: ");
    case "BinaryExpression":
      return `${part("left")}${part("right")}`;
    case "CallExpression":
      return commandIn(value, source);
    default:
      return "";
  }
}

interface Quasi {
  readonly value: { readonly cooked: string };
}

/** A command that is built from words: `commandLine(["list", run])`, `settings.command("list")`. */
function commandIn(value: Node, source: string): string {
  const { start, end } = value["callee"] as Node;
  if (!/(^|\.)(commandLine|command|retyped|retryAfter)$/.test(source.slice(start, end))) return "";
  const given = value["arguments"] as readonly Node[];
  const list = given.flatMap((each) => (each.type === "ArrayExpression" ? (each["elements"] as Node[]) : [each]));
  const words = list.map(({ value: word }) => (typeof word === "string" ? word : "…"));
  return cell(`\`npx cairn ${words.join(" ")}\``.replaceAll(/(… )+…/g, "…"));
}

/** A bar or a line break would end the cell, and a sign of Markdown would be read as one. */
const cell = (text: string): string =>
  text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;").replaceAll("*", "\\*");
