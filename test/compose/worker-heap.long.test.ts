/** What a worker asks of V8 before it loads an agent. */
import { fork } from "node:child_process";
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

test("a worker bounds by how much its heap grows before V8 collects", async () => {
  const [dir, noted] = [temporaryDir(), join(temporaryDir(), "flags")];
  const notes = join(temporaryDir(), "notes.cjs");
  writeFileSync(notes, NOTES);
  open(dir);
  const settings = { dir, limits: limitsFor(60_000), agentFiles: [], prices: {}, modelRates: {} };
  const module = new URL("../../src/compose/workers/worker.ts", import.meta.url);
  const env = { ...process.env, NOTED_FLAGS: noted };
  const worker = fork(module, [JSON.stringify(settings)], { env, execArgv: ["--require", notes] });
  onTestFinished(() => void worker.kill("SIGKILL"));
  const [said] = (await once(worker, "message")) as readonly unknown[];
  expect(said).toEqual({ kind: "ready" });
  expect(readFileSync(noted, "utf8")).toBe("--heap-growing-percent=50\n");
});
