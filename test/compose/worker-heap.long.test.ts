/** What a worker asks of V8 before it loads an agent, and a supervisor before it loads all that it needs. */
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { limitsFor } from "../../src/protocol/limits.ts";
import { temporaryDir, open } from "../process/fixtures/store.ts";

/** Notes each flag of V8 that its process sets. */
const NOTES = `
  const v8 = require("node:v8");
  const set = v8.setFlagsFromString;
  v8.setFlagsFromString = (flag) => {
    require("node:fs").appendFileSync(process.env.NOTED_FLAGS, flag + "\\n");
    set(flag);
  };
  require("node:module").syncBuiltinESMExports();
`;

function notesOf() {
  const [noted, notes] = [join(temporaryDir(), "flags"), join(temporaryDir(), "notes.cjs")];
  writeFileSync(notes, NOTES);
  return { noted, notes, env: { ...process.env, NOTED_FLAGS: noted } };
}

test("a worker bounds by how much its heap grows before V8 collects", async () => {
  const dir = temporaryDir();
  const { noted, notes, env } = notesOf();
  open(dir);
  const settings = { dir, limits: limitsFor(60_000), agentFiles: [], prices: {}, modelRates: {} };
  const module = new URL("../../src/compose/workers/worker.ts", import.meta.url);
  const worker = fork(module, [JSON.stringify(settings)], { env, execArgv: ["--require", notes] });
  onTestFinished(() => void worker.kill("SIGKILL"));
  const [said] = (await once(worker, "message")) as readonly unknown[];
  expect(said).toEqual({ kind: "ready" });
  expect(readFileSync(noted, "utf8")).toBe("--heap-growing-percent=50\n");
});

test.each(["work", "serve"])("%s keeps the space for young objects at its first size", (command) => {
  const { noted, notes, env } = notesOf();
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  // A world that a service drives: the command ends when it has read its settings.
  const words = ["--require", notes, main, command, "--world", "aws"];
  spawnSync(process.execPath, words, { env, cwd: temporaryDir() });
  expect(readFileSync(noted, "utf8")).toBe("--semi-space-growth-factor=1\n");
});
