/** What a worker asks of V8 before it loads an agent, and a supervisor before it loads all that it needs. */
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { supervise } from "../../src/compose/supervise.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { ALLOCATOR } from "../../src/workers/wire.ts";
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

/** Starts a worker in a new store, and waits until it is ready. */
async function readyWorker({ notes, env }: { readonly notes: string; readonly env: NodeJS.ProcessEnv }) {
  const dir = temporaryDir();
  open(dir);
  const settings = { dir, limits: limitsFor(60_000), agentFiles: [], prices: {}, modelRates: {} };
  const module = new URL("../../src/compose/workers/worker.ts", import.meta.url);
  const worker = fork(module, [JSON.stringify(settings)], { env, execArgv: ["--require", notes] });
  onTestFinished(() => void worker.kill("SIGKILL"));
  const [said] = (await once(worker, "message")) as readonly unknown[];
  expect(said).toEqual({ kind: "ready" });
}

test("a worker bounds by how much its heap grows before V8 collects", async () => {
  const { noted, notes, env } = notesOf();
  await readyWorker({ notes, env });
  expect(readFileSync(noted, "utf8")).toBe("--heap-growing-percent=50\n");
});

/** Notes what of its environment a worker still has when it is ready. */
const NOTES_ENVIRONMENT = `
  const send = process.send.bind(process);
  process.send = (...message) => {
    require("node:fs").writeFileSync(process.env.NOTED_FLAGS, String(process.env.MALLOC_MMAP_THRESHOLD_));
    return send(...message);
  };
`;

test("what the allocator of a worker has read is not for what tools start, unless the user has set it", async () => {
  const { noted, notes, env } = notesOf();
  writeFileSync(notes, NOTES_ENVIRONMENT);
  await readyWorker({ notes, env: { ...env, ...ALLOCATOR } });
  expect(readFileSync(noted, "utf8")).toBe("undefined");
  await readyWorker({ notes, env: { ...env, MALLOC_MMAP_THRESHOLD_: "4096" } });
  expect(readFileSync(noted, "utf8")).toBe("4096");
});

test("a command starts its workers with that allocator, and with what the user has set of it", () => {
  const started = (env: NodeJS.ProcessEnv) => {
    let worker: unknown;
    const supervision = { start: (options: { readonly worker: unknown }) => ((worker = options.worker), {}) };
    const settings = { world: { place: "/" }, agentFiles: [], webhooks: [] };
    supervise({ shell: { env }, settings, supervision, onEvent: () => undefined } as never);
    return worker;
  };
  expect(started({})).toMatchObject({ env: ALLOCATOR });
  expect(started({ MALLOC_MMAP_THRESHOLD_: "4096" })).toMatchObject({ env: { MALLOC_MMAP_THRESHOLD_: "4096" } });
});

test.each(["work", "serve"])("%s keeps the space for young objects at its first size", (command) => {
  const { noted, notes, env } = notesOf();
  const main = join(import.meta.dirname, "../../src/cli/main.ts");
  // A world that a service drives: the command ends when it has read its settings.
  const words = ["--require", notes, main, command, "--world", "aws"];
  spawnSync(process.execPath, words, { env, cwd: temporaryDir() });
  expect(readFileSync(noted, "utf8")).toBe("--semi-space-growth-factor=1\n");
});
