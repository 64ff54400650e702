/** A project from the template `chat` gets the packages with which its page is tested here. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");

interface Manifest {
  readonly engines: object;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, unknown>>;
}

const manifestAt = (...path: readonly string[]): Manifest =>
  JSON.parse(readFileSync(join(ROOT, ...path), "utf8")) as Manifest;

const own = manifestAt("package.json");
const shared = manifestAt("templates", "shared", "package.json.template");
const chat = manifestAt("templates", "chat", "package.json.template");

test("the page has the versions and overrides of this repository", () => {
  const added = Object.keys(chat.devDependencies).filter((name) => !Object.hasOwn(shared.devDependencies, name));
  expect(added).toContain("@ai-sdk/workflow");
  for (const name of added) expect(chat.devDependencies[name], name).toBe(own.devDependencies[name]);
  for (const [name, override] of Object.entries(chat.overrides)) expect(override).toEqual(own.overrides[name]);
});

test("everything else of the project is that of the other templates", () => {
  expect(chat.engines).toEqual(shared.engines);
  expect(chat.dependencies).toEqual(shared.dependencies);
  expect(chat.devDependencies).toMatchObject(shared.devDependencies);
  expect(chat.scripts).toMatchObject({ ...shared.scripts, types: `${shared.scripts["types"]} && tsc -p page` });
});
