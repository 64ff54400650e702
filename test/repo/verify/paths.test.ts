/** The table from paths to steps: a path that it does not know is never checked too little. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OPTIONAL_STEPS, TABLE, stepsFor } from "../../../scripts/verify/paths.ts";

const ROOT = join(import.meta.dirname, "../../..");
const stepsOf = (...files: readonly string[]): readonly string[] => [...stepsFor(files).steps.keys()];

test("plays everything for a path that no row knows, and names it", () => {
  expect(stepsOf("tools/new.ts")).toEqual(OPTIONAL_STEPS);
  expect(stepsFor(["tools/new.ts", "docs/a2a.md"]).unknown).toEqual(["tools/new.ts"]);
});

test.each([
  ["docs/recovery.md", []],
  ["docs/openapi.json", ["contract"]],
  [".ci/passed", []],
  ["src/protocol/row.ts", ["crash", "simulation", "processes", "localstack"]],
  ["src/engine/loop/beat.ts", ["crash", "simulation", "processes"]],
  ["src/console/main.tsx", ["browser"]],
  ["src/providers/model.ts", ["package"]],
  ["src/api/routes.ts", ["browser", "contract", "localstack"]],
  ["src/adapters/local/world.ts", ["processes", "package", "browser"]],
  ["src/adapters/aws/world.ts", ["infra", "localstack", "deployments"]],
  ["functions/beat.ts", ["infra", "localstack", "deployments"]],
  ["templates/chat/page/main.tsx", ["package", "browser"]],
  ["test/core/dial.test.ts", []],
  ["test/slow/crash/crash.test.ts", ["crash"]],
  ["test/slow/process/freeze.test.ts", ["processes"]],
  ["vitest.config.ts", OPTIONAL_STEPS],
])("plays for %s: %j", (file, steps) => {
  expect(stepsOf(file)).toEqual(steps);
});

test("the page for contributors says what four changes ask for", () => {
  const page = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");
  const rows = [...page.matchAll(/^\| [^|]+, `([\w/]+\/)` \| ([\w, ]+) \|$/gm)];
  expect(rows).toHaveLength(4);
  for (const [, folder = "", steps = ""] of rows)
    expect({ folder, steps }).toEqual({ folder, steps: stepsOf(`${folder}x.ts`).join(", ") });
});

test("adds up what several files ask for, with the rows that asked", () => {
  const { steps } = stepsFor(["src/console/main.tsx", "src/core/event.ts", "src/api/routes.ts"]);
  expect([...steps.keys()]).toEqual(["crash", "simulation", "processes", "browser", "contract", "localstack"]);
  expect(steps.get("browser")).toEqual(["console", "API"]);
});

const tracked = spawnSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" })
  .stdout.split("\0")
  .filter((file) => file !== "");

test("knows every folder of the sources and tests", () => {
  const unknown = stepsFor(tracked.filter((file) => /^(src|test|functions|infra|agents|templates|docs)\//.test(file)));
  expect(tracked.length).toBeGreaterThan(1_000);
  expect(unknown.unknown).toEqual([]);
});

test("has no row that knows no path of the checkout", () => {
  const isKnown = (path: string): boolean => tracked.some((file) => file.startsWith(path));
  expect(TABLE.flatMap(({ paths }) => paths.filter((path) => !isKnown(path)))).toEqual([]);
});

test("has no path that an earlier row already decides", () => {
  const shadowed = TABLE.flatMap(({ paths }, index) =>
    paths.filter((path) => TABLE.slice(0, index).some((row) => row.paths.some((earlier) => path.startsWith(earlier)))),
  );
  expect(shadowed).toEqual([]);
});
