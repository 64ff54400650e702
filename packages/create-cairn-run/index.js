#!/usr/bin/env node
/**
 * `npm create cairn-run DIR`: runs `cairn-run init DIR`. `npm create` looks for a package of this name. An old Node must
 * be able to parse this file, because the binary of cairn-run says which Node is needed.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const manifest = createRequire(import.meta.url).resolve("cairn-run/package.json");
const { bin } = createRequire(import.meta.url)(manifest);
const words = process.argv.slice(2);
const dir = words.length === 0 || words[0].startsWith("-") ? ["my-agents"] : [];
const { status } = spawnSync(process.execPath, [join(dirname(manifest), bin["cairn-run"]), "init", ...dir, ...words], {
  stdio: "inherit",
});
process.exitCode = status === null ? 1 : status;
