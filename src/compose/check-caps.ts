/**
 * Whether `concurrency` of the config names agents that exist. The cap of a misspelled agent would cap nothing, and the
 * service behind that agent would get more requests than it takes.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ConfigInvalid } from "../sdk/config.ts";
import type { Catalogue } from "./catalogue.ts";
import { nearest } from "../sdk/nearest.ts";
import { openSettled } from "./open.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";

/**
 * Which name of `concurrency` no agent has, in words; null: each has one. A file that cannot be imported may have more
 * agents, and so may the files that the store remembers.
 */
export async function wrongWithCaps(
  shell: Surroundings,
  settings: Settings,
  { agents, broken }: Catalogue,
): Promise<string | null> {
  if (broken.length > 0) return null;
  const known = new Set(agents.map(({ agent }) => agent.name));
  const unknown = Object.keys(settings.concurrency).filter((name) => !known.has(name));
  if (unknown.length === 0) return null;
  const remembered = await rememberedOf(shell, settings, unknown);
  const wrong = unknown.find((name) => !remembered.has(name));
  if (wrong === undefined) return null;
  const names = [...known].toSorted();
  const meant = nearest(wrong, names);
  const hint = meant === null ? "" : `; write ${meant} if you mean that one`;
  return `concurrency.${wrong} of cairn.config.ts names no agent; the agents are: ${names.join(", ")}${hint}`;
}

/** Throws `ConfigInvalid` for a cap of an agent that does not exist. */
export async function checkCaps(shell: Surroundings, settings: Settings, catalogue: Catalogue): Promise<void> {
  const wrong = await wrongWithCaps(shell, settings, catalogue);
  if (wrong !== null) throw new ConfigInvalid(wrong);
}

async function rememberedOf(
  shell: Surroundings,
  settings: Settings,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (settings.world.agents.kind !== "files" || !settings.world.isThere()) return new Set();
  const opened = await openSettled(shell, settings, { create: false });
  try {
    return new Set(names.filter((name) => (opened.agentFiles?.find(name) ?? null) !== null));
  } finally {
    opened.close();
  }
}

const READ_MS = 20_000;

/**
 * The same for the process that drives all runs, which imports no code of agents: another process reads them. What
 * cannot be read in time is not judged.
 */
export async function checkCapsApart(shell: Surroundings, settings: Settings): Promise<void> {
  if (Object.keys(settings.concurrency).length === 0) return;
  const words = [fileURLToPath(import.meta.resolve("#cli/main")), "agents", "--json", ...settings.world.words];
  const options = { cwd: shell.cwd, env: shell.env, timeout: READ_MS, killSignal: "SIGKILL" } as const;
  try {
    await promisify(execFile)(process.execPath, words, options);
  } catch (error) {
    const what = refusalIn((error as { readonly stdout?: string }).stdout ?? "");
    if (what !== null) throw new ConfigInvalid(what);
  }
}

/** What a command said with the code `ConfigInvalid`; null if it said something else. */
function refusalIn(stdout: string): string | null {
  try {
    const { error } = JSON.parse(stdout) as { readonly error?: { readonly code: string; readonly message: string } };
    return error?.code === "ConfigInvalid" ? error.message : null;
  } catch {
    return null;
  }
}
