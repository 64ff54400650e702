/**
 * What commands print with `--json` is what `docs/json-schemas.json` says. Each test that runs a command within its process
 * compares that (`cli-in-process.ts`), and so does each operation over both transports (`transports.test.ts`). Here are
 * those of the page, and of commands that are no operation or that these refuse.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type JsonSchemas, jsonTable, schemasText } from "../../scripts/docs/json-page.ts";
import { runCli } from "../support/processes/cli-in-process.ts";
import { fitPrinted } from "../support/processes/printed-json.ts";
import { clerkProject } from "./clerk-project.ts";

const DOCS = join(import.meta.dirname, "..", "..", "docs");
const text = readFileSync(join(DOCS, "json-schemas.json"), "utf8");
const schemas = JSON.parse(text) as JsonSchemas;

const CLERK = `import { defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";
export const clerk = defineAgent({
  name: "clerk",
  version: "1",
  instructions: "Greet.",
  model: scriptedModel({ name: "clerk-model", reply: () => ({ text: "hello" }) }),
  task: z.object({}),
  tools: {},
  budget: { beats: 3 },
});
`;

/** They print a script, and speak a protocol. */
const WITHOUT_JSON = new Set(["completion", "mcp", "help"]);

describe("the schemas", () => {
  test("have every command, and the page lists them", async () => {
    const { out } = await runCli("/", "--help");
    const commands = [...out.matchAll(/^ {2}([a-z][a-z-]*) (?:[[<]| {2})/gm)].map(([, name = ""]) => name);
    const groups = new Set(Object.keys(schemas.commands).map((command) => command.split(" ")[0]));
    expect(commands.length).toBeGreaterThan(40);
    expect(commands.filter((name) => !groups.has(name) && !WITHOUT_JSON.has(name))).toEqual([]);
    expect(readFileSync(join(DOCS, "json.md"), "utf8")).toContain(jsonTable(schemas));
    expect(schemasText(schemas)).toBe(text);
  });

  test("refuse a field that they do not name, one that is missing, and one of another type", () => {
    const printed = { run: "local-a", want: "pause", requested: true, supervisor: null };
    expect(fitPrinted(["pause", "local-a"], JSON.stringify(printed))).toBe("pause");
    for (const change of [{ more: 1 }, { want: "stop" }, { supervisor: undefined }, { requested: "yes" }])
      expect(() => fitPrinted(["pause"], JSON.stringify({ ...printed, ...change }))).toThrow(/npm run json-schemas/);
    expect(fitPrinted(["pause"], '{"error":{"code":"C","message":"m","why":"w","next":"n","dir":"d"}}')).toBe("pause");
    expect(() => fitPrinted(["pause"], '{"error":{"code":"C"}}')).toThrow(/json-schemas/);
    expect(fitPrinted(["completion", "bash"], "complete -F _cairn cairn")).toBeNull();
  });
});

test("fit what commands print of a project, an ended run, its store and its files", async () => {
  const { dir, run, end } = await clerkProject(CLERK, {});
  await end();
  const at = (name: string): string => join(dir, name);
  const COMMANDS: readonly (readonly [command: string, ...words: string[]])[] = [
    ["agents"],
    ["audit", "clerk"],
    ["start", "clerk", "--input", "{}"],
    ["list"],
    ["fork", run, "--at", "0"],
    ["export", run, "--out", at("run.jsonl")],
    ["verify", at("run.jsonl")],
    ["replay", at("run.jsonl")],
    ["pin", run],
    ["token create", "--name", "ci", "--scopes", "runs:read"],
    ["token list"],
    ["audit-log"],
    ["backup", at("backup.cairn")],
    ["init", at("new")],
  ];
  for (const [command, ...words] of COMMANDS) {
    const typed = [...command.split(" "), ...words, "--json"];
    const { exit, out } = await runCli(dir, ...typed);
    expect({ command, exit, out }).toEqual({ command, exit: 0, out: expect.not.stringMatching(/^{\s*"error"/) });
    expect({ command: fitPrinted(typed, out), isSilent: out.trim() === "" }).toEqual({ command, isSilent: false });
  }
});
