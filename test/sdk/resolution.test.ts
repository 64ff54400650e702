/** Imports of cairn's own modules, where packages that cairn needs are not installed. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
