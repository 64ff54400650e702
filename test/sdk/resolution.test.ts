/** Imports of cairn's own modules, where packages that cairn needs are not installed. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { LIMITS } from "../support/gate/limits.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

const ROOT = join(import.meta.dirname, "../..");

test("a package that cairn itself lacks is refused, and is not looked up in cairn for ever", async () => {
  const dir = temporaryDir();
  for (const file of ["src/sdk/resolution.ts", "src/sdk/own-files.ts", "src/sdk/typescript"]) {
    mkdirSync(join(dir, "src/sdk"), { recursive: true });
    cpSync(join(ROOT, file), join(dir, file), { recursive: true });
  }
  writeFileSync(join(dir, "package.json"), '{ "type": "module", "imports": { "#package": "./package.json" } }');
  writeFileSync(
    join(dir, "src/lacking.js"),
    'import { registerResolution } from "./sdk/resolution.ts"; registerResolution();' +
      'await import("@ai-sdk/provider").catch(({ code }) => console.log(code));',
  );
  const begun = promisify(execFile)(process.execPath, [join(dir, "src/lacking.js")], { timeout: LIMITS.exitMs });
  expect((await begun).stdout.trim()).toBe("ERR_MODULE_NOT_FOUND");
});

/** Imports the package `many`, which has these files, and returns what it exports and what Node was asked to find. */
async function imported(
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const folder = temporaryDir();
  const own = join(folder, "node_modules/many");
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    writeFileSync(join(own, name), text);
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(own, name));
  const resolution = JSON.stringify(pathToFileURL(join(ROOT, "src/sdk/resolution.ts")).href);
  const main = join(folder, "main.mjs");
  writeFileSync(
    main,
    `import { registerHooks } from "node:module";
    const asked = [];
    registerHooks({ resolve: (name, context, next) => (asked.push(name), next(name, context)) });
    const { registerResolution } = await import(${resolution});
    registerResolution();
    asked.length = 0;
    const got = await import("many").catch(({ code }) => ({ code }));
    console.log(JSON.stringify({ asked, got }));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, main], {
    timeout: LIMITS.exitMs,
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  return JSON.parse(stdout) as { readonly asked: readonly string[]; readonly got: unknown };
}

test("files of a package that import each other are found without asking Node, and are what their manifest says", async () => {
  const found = await imported({
    "package.json": '{ "type": "module", "exports": "./index.js" }',
    "index.js": 'export * from "./lib/one.js"; export { two } from "./common/two.js";',
    "lib/one.js": 'import { three } from "../three.js"; export const one = three - 2;',
    "common/package.json": '{ "type": "commonjs" }',
    "common/two.js": "exports.two = 2;",
    "three.js": "export const three = 3;",
  });
  expect(found).toEqual({ asked: ["many"], got: { one: 1, two: 2 } });
});

test("Node is asked for each file where something is loaded before the program, which may have hooks", async () => {
  const files = {
    "package.json": '{ "type": "module", "exports": "./index.js" }',
    "index.js": 'export * from "./one.js";',
    "one.js": "export const one = 1;",
  };
  const found = await imported(files, {}, ["--import", "data:text/javascript,"]);
  expect(found).toEqual({ asked: ["many", "./one.js"], got: { one: 1 } });
});

test("the text of a file decides what it is where its package has no type", async () => {
  const found = await imported({
    "package.json": '{ "exports": "./index.mjs" }',
    "index.mjs": 'export { one } from "./one.js"; export { two } from "./two.js";',
    "one.js": "export const one = 1;",
    "two.js": "exports.two = 2;",
  });
  expect(found).toEqual({ asked: ["many"], got: { one: 1, two: 2 } });
});

test("Node looks for a link in a package, and for a file that is not there", async () => {
  const linked = await imported(
    {
      "package.json": '{ "type": "module", "exports": "./index.js" }',
      "index.js": 'export * from "./link.js";',
      "lib/real.js": 'export * from "./beside.js";',
      "lib/beside.js": "export const one = 1;",
    },
    { "link.js": "lib/real.js" },
  );
  expect(linked).toEqual({ asked: ["many", "./link.js"], got: { one: 1 } });
  const absent = await imported({
    "package.json": '{ "type": "module", "exports": "./index.js" }',
    "index.js": 'export * from "./absent.js";',
  });
  expect(absent).toEqual({ asked: ["many", "./absent.js"], got: { code: "ERR_MODULE_NOT_FOUND" } });
});

test("two spellings of the name of a file are one module", async () => {
  const found = await imported({
    "package.json": '{ "type": "module", "exports": "./index.js" }',
    "index.js":
      'import { box } from "./lib/box.js"; import { box as same } from "./lib//box.js"; export const one = box === same;',
    "lib/box.js": "export const box = {};",
  });
  expect(found.got).toEqual({ one: true });
});
