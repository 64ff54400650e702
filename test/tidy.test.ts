/**
 * The rules of the house, which `npm run tidy` checks in this checkout. Here each is shown to detect what offends it and
 * to accept what looks alike, and a folder with one violation per rule is reported by file and line.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { authorsMachine, registriesIn, withoutTildes } from "./support/rules/machine.ts";
import { chaosIn, cycles, isProduction, loadedBy } from "./support/rules/modules.ts";
import { type Module, filesBelow } from "./support/rules/source.ts";
import { RULES } from "./support/rules/table.ts";
import { LAWS, inspect, reportOf, tidy } from "./support/rules/tidy.ts";

const ROOT = join(import.meta.dirname, "..");

/** As text, since a rule is to be told from the others. */
const violated = (path: string, text: string): readonly string[] =>
  inspect(path, text).violations.map(({ law }) => law.says);

describe.each(RULES)("$says", (rule) => {
  const { says, where, bites, spares } = rule;

  test.each(bites)("detects %s: %s", (path, text) => {
    expect(where.test(path)).toBe(true);
    expect(violated(path, text)).toContain(says);
  });

  test.each(spares)("accepts %s: %s", (path, text) => {
    expect(inspect(path, text, [{ ...rule, where: /./ }]).violations).toEqual([]);
  });

  test("holds for files of this checkout", () => {
    expect(paths.some((path) => where.test(path))).toBe(true);
  });
});

const paths = filesBelow(ROOT).filter((path) => /\.tsx?$/.test(path));

const modules = (files: Readonly<Record<string, string>>): readonly Module[] =>
  Object.entries(files).map(([path, text]) => inspect(path, text, []).module);

describe("production loads no code that pauses, kills or watches a process", () => {
  test("detects such code behind another file, and not behind a type", () => {
    const loads = (text: string) =>
      modules({ "src/compose/workers/worker.ts": 'export * from "../x.ts";', "src/compose/x.ts": text });
    const entry = "src/compose/workers/worker.ts";
    expect(loadedBy(loads(""), entry)).toEqual(new Set([entry, "src/compose/x.ts"]));
    expect(chaosIn(loads('import { rig } from "../chaos/rig.ts";'), entry)).toEqual(["src/chaos/rig.ts"]);
    expect(chaosIn(loads('import type { Rig } from "../chaos/rig.ts";'), entry)).toEqual([]);
  });

  test("holds for every deployed function and for the worker", () => {
    const entries = paths.filter((path) => isProduction({ path, imports: [] }));
    expect(entries).toEqual(expect.arrayContaining(["functions/beat.ts", "src/compose/workers/worker.ts"]));
    expect(entries.length).toBeGreaterThan(5);
  });

  test("the chaos workers of this checkout load such code", () => {
    const read = (path: string): Module => inspect(path, readFileSync(join(ROOT, path), "utf8"), []).module;
    const entries = ["src/chaos/chaos-worker.ts", "src/compose/workers/held-worker.ts"];
    for (const entry of entries) expect(chaosIn([read(entry)], entry), entry).not.toEqual([]);
  });
});

describe("no files import each other in a circle, not even types", () => {
  const pair = (first: string, second: string) => modules({ "src/core/a.ts": first, "src/core/b.ts": second });

  test("detects a cycle", () => {
    const back = 'import { a } from "./a.ts";';
    const circle = "src/core/a.ts → src/core/b.ts → src/core/a.ts";
    expect(cycles(pair('export * from "./b.ts";', back))).toEqual([circle]);
    expect(cycles(pair('import { type B } from "./b.ts";', back))).toEqual([circle]);
    expect(cycles(pair('import type { B } from "./b.ts";', back))).toEqual([circle]);
    expect(cycles(pair('import type { B } from "./b.ts";', ""))).toEqual([]);
  });
});

describe("nothing of the author's machine is in the checkout", () => {
  test.each(["cd /~work/main", "https://regis~try.npmjs.org/zod", "/~home/me/.npmrc"])("detects %s", (text) => {
    expect(authorsMachine(text)).toBe(-1);
    expect(authorsMachine(withoutTildes(text))).toBeGreaterThanOrEqual(0);
  });

  test.each(["https://github.com/x", "/tmp/x", "./work/main", "a registry of names"])("accepts %s", (text) => {
    expect(authorsMachine(text)).toBe(-1);
  });

  test("the lock file names no registry", () => {
    expect(filesBelow(ROOT)).toContain("package-lock.json");
    expect(registriesIn('{ "lockfileVersion": 3 }')).toEqual([]);
    expect(registriesIn('{ "lockfileVersion": 2 }')).toEqual(["lockfileVersion 2"]);
    const resolved = '{ "lockfileVersion": 3, "packages": { "x": { "resolved": "https://x/x.tgz" } } }';
    expect(registriesIn(resolved)).toEqual(['"resolved": "https:']);
  });
});

describe("a checkout with one violation per rule", () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-tidy-"));
  afterAll(() => rmSync(dir, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  /** The first sample of each rule, in the third line of a file of its own beside the path of the sample. */
  const planted = RULES.map(({ bites: [bite] }, at) => {
    const [path, text] = bite ?? ["", ""];
    return { path: path.replace(/(\.test)?\.ts$/, (end) => `-${at}${end}`), text: `\n\n${text}` };
  });

  test("is reported by rule, file and line, with what to do", () => {
    write(".gitignore", "build/\n");
    write("build/x.ts", "export default 1;");
    for (const { path, text } of planted) write(path, text);
    write("src/core/a.ts", 'import type { B } from "./b.ts";');
    write("src/core/b.ts", 'import type { A } from "./a.ts";');
    write("src/compose/workers/worker.ts", 'import "../../chaos/rig.ts";');
    write("docs/x.md", `one\n${withoutTildes("cd /~home/me")}\n`);
    write("package-lock.json", '{ "lockfileVersion": 2 }');

    const { violations } = tidy(dir);
    const found = new Set(violations.map(({ law }) => law.says));
    expect([...RULES, ...LAWS].filter(({ says }) => !found.has(says)).map(({ says }) => says)).toEqual([]);
    expect(violations.filter(({ path }) => path.startsWith("build/"))).toEqual([]);

    const report = reportOf(violations);
    expect(report).toContain("docs/x.md:2: " + withoutTildes("/~home/me"));
    const index = report.indexOf("no any: 2 violations");
    expect(report.slice(index, index + 3)).toEqual([
      "no any: 2 violations",
      "  to do: name the type, or take unknown and narrow it",
      expect.stringMatching(/^src\/core\/x-\d+\.ts:3: any$/),
    ]);
  });

  test("reports nothing once the violations are gone", () => {
    for (const name of ["src", "docs", "test", "vitest.config.ts"])
      rmSync(join(dir, name), { recursive: true, force: true });
    for (const { path } of planted) rmSync(join(dir, path), { force: true });
    write("package-lock.json", '{ "lockfileVersion": 3 }');
    write("src/core/x.ts", "export const x = 1;");
    expect(reportOf(tidy(dir).violations)).toEqual([]);
  });
});
