/** A project with one agent file, `clerk.ts`, in the folder of a store, and a run of that agent. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../../src/ports/agent.ts";
import { loadAgentFile } from "../../src/sdk/load.ts";
import { registerResolution } from "../../src/sdk/resolution.ts";
import type { Json } from "../../src/core/json.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../support/harness/drive.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** `source`: the agent file. `end` drives the run until it ends. */
export async function clerkProject(source: string, task: Json) {
  const { dir, world } = createLocalHarness();
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(ROOT, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(ROOT, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  const file = join(dir, "clerk.ts");
  writeFileSync(join(dir, "package.json"), '{ "type": "module" }');
  writeFileSync(file, source);
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"] };\n');
  registerResolution();
  const [agent] = await loadAgentFile(file);
  const payload = await beginRun(world, agent as Agent, task);
  return { dir, file, run: payload.run, end: () => drive(runnerOf(world, agent as Agent), payload) };
}
