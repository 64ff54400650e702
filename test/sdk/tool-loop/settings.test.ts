/** Every setting that the installed AI SDK knows has a row, so a new version of `ai` shows what is new. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API, SymbolFlags } from "typescript/unstable/sync";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SETTINGS, TOOL_PROPERTIES, refuseIn, tablesOfSettings } from "../../../src/sdk/tool-loop/settings.ts";

const ROOT = join(import.meta.dirname, "../../..");
const TYPES = join(ROOT, "test/support/types/tool-loop.ts");
const folder = mkdtempSync(join(tmpdir(), "cairn-types-"));
const read: { settings: readonly string[]; tool: readonly string[] } = { settings: [], tool: [] };

beforeAll(() => {
  const config = join(folder, "tsconfig.json");
  const compilerOptions = { module: "nodenext", strict: true, skipLibCheck: true, noEmit: true, types: [] };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [TYPES] }));
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [config] });
    const { checker, program } = snapshot.getProject(config) ?? {};
    const file = program?.getSourceFile(TYPES);
    if (checker === undefined || file === undefined) throw new Error(`no program of ${TYPES}`);
    const keysOf = (name: string): readonly string[] => {
      const symbol = checker.resolveName(name, SymbolFlags.TypeAlias, { document: TYPES, position: file.end });
      if (symbol === undefined) throw new Error(`no type ${name}`);
      return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((each) => each.name);
    };
    Object.assign(read, { settings: keysOf("Setting"), tool: keysOf("ToolProperty") });
  } finally {
    api.close();
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("says what becomes of each setting of a ToolLoopAgent that the installed types have", () => {
  expect(read.settings.length).toBeGreaterThan(40);
  expect(Object.keys(SETTINGS).toSorted()).toEqual(read.settings.toSorted());
});

test("says what becomes of each property of a tool that the installed types have", () => {
  expect(read.tool.length).toBeGreaterThan(10);
  expect(Object.keys(TOOL_PROPERTIES).toSorted()).toEqual(read.tool.toSorted());
});

test("the docs show both tables", () => {
  const page = readFileSync(join(ROOT, "docs/agents.md"), "utf8");
  const [, shown = ""] = /<!-- tool-loop:begin -->\n(?<table>[\s\S]*?)\n<!-- tool-loop:end -->/.exec(page) ?? [];
  expect(shown, "copy tablesOfSettings() into docs/agents.md").toBe(tablesOfSettings());
});

test.each(Object.entries(SETTINGS).filter(([, { as }]) => as === "refused"))(
  "refuses the setting %s with its reason when the file loads",
  (key, { says }) => {
    expect(() => refuseIn("agent a: the setting", { [key]: () => undefined }, SETTINGS)).toThrow(
      `agent a: the setting ${key} cannot be used: ${says}`,
    );
  },
);

test("refuses a setting that it does not know, and passes over one that is not set", () => {
  expect(() => refuseIn("agent a: the setting", { brandNew: 1 }, SETTINGS)).toThrow("brandNew is not known");
  expect(() => refuseIn("agent a: the setting", { brandNew: undefined, onError: null }, SETTINGS)).not.toThrow();
});
