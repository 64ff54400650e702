/**
 * Decides which agent code a name refers to. The order is: the config, then the files that the store remembers, then
 * cairn's own examples if there is no config.
 *
 * A file outside of the config is remembered by the store in which it was started, and keeps its name there. Otherwise
 * a run could continue with the code of another file that uses the same name.
 */
import { existsSync } from "node:fs";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import {
  type Catalogue,
  type Located,
  agentClash,
  agentInFile,
  agentNamed,
  agentNameUnknown,
  isFileName,
  readCatalogue,
  wrongWithLocated,
} from "./catalogue.ts";
import { checkCaps } from "./check-caps.ts";
import { type Opened, openSettled } from "./open.ts";
import { UserError, EXIT } from "./user-error.ts";
import type { Settings } from "./settings.ts";
import type { Surroundings } from "./surroundings.ts";
import { commandLine, retryAfter } from "../render/words.ts";

/** The same settings, whose suggested commands for another agent begin with that command instead of `start`. */
export const suggesting = (settings: Settings, name: string): Settings => ({
  ...settings,
  command: (_, ...words) => settings.command(name, ...words),
});

/**
 * Finds the agent that the user wants to start, by its name or by its file. Throws `AgentInvalid` if its file is in the
 * config, and a child tool of it names an agent that the config does not have, and `ConfigInvalid` if a cap of the config
 * names no agent.
 */
export async function locateTyped(
  shell: Surroundings,
  { name, settings }: { readonly name: string; readonly settings: Settings },
): Promise<Located> {
  const configured = await readCatalogue(settings.agentFiles);
  const located = await foundAs(shell, { name, settings, configured });
  await checkCaps(shell, settings, { ...configured, agents: [...configured.agents, located] });
  const wrong = settings.agentFiles.includes(located.file) ? wrongWithLocated(located, configured) : null;
  if (wrong !== null) throw new AgentInvalid(wrong);
  return located;
}

async function foundAs(
  shell: Surroundings,
  {
    name,
    settings,
    configured,
  }: { readonly name: string; readonly settings: Settings; readonly configured: Catalogue },
): Promise<Located> {
  if (!isFileName(name)) {
    const catalogue = await readCatalogue([...settings.agentFiles, ...settings.exampleFiles]);
    const found =
      agentNamed(configured, name) ?? (await rememberedIn(shell, { settings, name })) ?? agentNamed(catalogue, name);
    if (found !== null) return found;
    // The command as it was typed, with its options. A program that starts a run has typed none.
    const at = shell.argv.indexOf(name);
    const instead = (agent: string): string =>
      at < 0 ? settings.command("start", agent) : commandLine(shell.argv.with(at, agent));
    throw agentNameUnknown({ name, catalogue, hasConfig: settings.hasConfig, instead });
  }
  const located = await agentInFile(shell.cwd, name);
  const same = agentNamed(configured, located.agent.name);
  const { agents } = settings.world;
  if (same === null && agents.kind === "deployed") throw notDeployed(shell, located, agents.why);
  if (same === null) return located;
  if (same.agent === located.agent) return same;
  throw clash(located, { file: same.file, settings });
}

async function rememberedIn(
  shell: Surroundings,
  { settings, name }: { readonly settings: Settings; readonly name: string },
): Promise<Located | null> {
  if (settings.world.agents.kind !== "files" || !settings.world.isThere()) return null;
  const opened = await openSettled(shell, settings, { create: false });
  try {
    const file = opened.agentFiles?.find(name) ?? null;
    return file === null || !existsSync(file) ? null : agentNamed(await readCatalogue([file]), name);
  } finally {
    opened.close();
  }
}

function notDeployed({ argv }: Surroundings, { agent, file }: Located, why: string): UserError {
  const what = `${file} is not named by cairn.config.ts`;
  return new UserError({
    code: "NotDeployed",
    exit: EXIT.refused,
    what,
    why,
    next: retryAfter(argv, "name the file there and deploy it"),
    facts: { agent: agent.name },
  });
}

/**
 * Records the agent's file in the store, so that the process that drives the run can find it. The agents of its child
 * runs are recorded as well, where the same file exports them.
 */
export async function keepFile({ agentFiles, settings }: Opened, located: Located): Promise<void> {
  if (agentFiles === null) return;
  const isConfigured = settings.agentFiles.includes(located.file);
  for (const each of isConfigured ? [located] : await withChildren(located, settings)) {
    const { agent, file } = each;
    const other = agentFiles.remember({ agent: agent.name, file, keepOther: !isConfigured });
    if (other !== null) throw clash(each, { file: other, settings });
  }
}

/** The agent, and every agent below it that its file exports and the config does not. */
async function withChildren(located: Located, { agentFiles }: Settings): Promise<readonly Located[]> {
  const [exported, configured] = [await readCatalogue([located.file]), await readCatalogue(agentFiles)];
  const all = new Map([[located.agent.name, located]]);
  for (const { agent } of all.values()) {
    for (const { child } of Object.values(agent.tools)) {
      const found = child === undefined || all.has(child.agent) ? null : agentNamed(exported, child.agent);
      if (found !== null && agentNamed(configured, found.agent.name) === null) all.set(found.agent.name, found);
    }
  }
  return [...all.values()];
}

const clash = ({ agent, file }: Located, clashing: { readonly file: string; readonly settings: Settings }) =>
  agentClash({
    name: agent.name,
    file: clashing.file,
    other: file,
    next: clashing.settings.command("start", agent.name),
  });

/** Every agent file could be loaded, and none exports an agent of that name. */
export class AgentUnknown extends Error {}

/**
 * Finds the agent of a run, for the worker that executes its beats. Of the config it imports only the file that it
 * needs.
 */
export async function locateNamed(
  name: string,
  { agentFiles, remembered }: { readonly agentFiles: readonly string[]; readonly remembered: string | null },
): Promise<Located> {
  const isConfigured = remembered !== null && agentFiles.includes(remembered) && existsSync(remembered);
  const configured = await readCatalogue(isConfigured ? [remembered] : agentFiles);
  const outside = await readCatalogue(remembered === null || agentFiles.includes(remembered) ? [] : [remembered]);
  const found = agentNamed(configured, name) ?? agentNamed(outside, name);
  if (found !== null) return found;
  const broken = [...configured.broken, ...outside.broken].map(({ why }) => why);
  const why = `no agent file exports an agent named ${name}; name its file in agents of cairn.config.ts`;
  // A file that cannot be loaded may be the one that exports it.
  throw broken.length === 0 ? new AgentUnknown(why) : new Error([why, ...broken].join("; "));
}
