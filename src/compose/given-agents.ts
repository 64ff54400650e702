/** The agents that a program gives as objects, as a bundle does: there is no file to load, and so no config. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { isAgent } from "../ports/is-agent.ts";
import type { ScheduledAgent } from "../ports/supervision.ts";
import { EFFECTS } from "../core/calls/effects.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { wrongWithChildren } from "../sdk/check.ts";
import { firingTimes } from "../features/schedules/firing-times.ts";
import { checkHere, requireGatewayKey } from "./check-here.ts";
import { EXIT, UserError } from "./user-error.ts";
import type { Settings } from "./settings.ts";

/**
 * Rejects with the first problem of the agents, each of which is of JavaScript perhaps: `AgentInvalid`, or `ModelNotReady` for
 * a key that is missing.
 */
export async function checkGiven(
  agents: readonly Agent[],
  settings: Pick<Settings, "limits" | "world">,
): Promise<void> {
  if (!Array.isArray(agents)) throw new AgentInvalid("agents is no list: write agents: [myAgent]");
  const at = agents.findIndex((each) => !isAgent(each));
  if (at >= 0) throw new AgentInvalid(`agents[${at}] is no agent: give what defineAgent returns`);
  const names = agents.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new AgentInvalid(`agents has two agents named ${twice}: a run stores only the name`);
  for (const agent of agents) {
    checkHere(agent, settings);
    const why = wrongWithChildren(agent, names);
    if (why !== null) throw new AgentInvalid(`agent ${agent.name}: ${why}`);
    await requireGatewayKey(agent, settings);
  }
}

/** What a supervisor fires for them. */
export const firedFor = (agents: readonly Agent[]): readonly ScheduledAgent[] =>
  agents.flatMap(({ name, schedule }) =>
    schedule === null ? [] : [{ agent: name, tenant: DEFAULT_TENANT, ...firingTimes(schedule) }],
  );

/**
 * Throws unless the agents may run in a process that cannot be ended: what outlives its time there acts on beside the next
 * owner of its run. So each of their calls has to be one that may be repeated.
 */
export function checkRepeatable(agents: readonly Agent[]): void {
  for (const { name, tools, sources = [] } of agents) {
    const [source] = sources;
    if (source !== undefined)
      throw notHere(name, `lists tools of ${source.label}, and their effects are not known before it is asked`);
    for (const [tool, { effect, undo }] of Object.entries(tools)) {
      if (EFFECTS[effect].startsOnce) throw notHere(name, `has the tool ${tool} with effect: "${effect}"`);
      if (undo !== null && EFFECTS[undo.effect].startsOnce)
        throw notHere(name, `has the tool ${tool}, whose undo has effect: "${undo.effect}"`);
    }
  }
}

const notHere = (agent: string, why: string): UserError =>
  new UserError({
    code: "BeatsNotHere",
    exit: EXIT.usage,
    what: `agent ${agent} cannot run in this process: it ${why}`,
    why: "a call that outlives its timeout cannot be ended here, so only calls with the effects none, keyed and idempotent run here",
    next: 'driveStore({ agents, entry: new URL("./cairn-worker.js", import.meta.url) })',
  });

/** What `import.meta.resolve` and `import.meta.url` say is a URL, and a text. */
const fileOf = (entry: URL | string): string =>
  entry instanceof URL || entry.startsWith("file:") ? fileURLToPath(entry) : resolve(entry);

/** Agents as objects are in no file that a worker process could load, so it begins with a module of the caller. */
export function entryIn({
  agents,
  entry,
  beats,
}: {
  readonly agents?: readonly Agent[] | undefined;
  readonly entry?: URL | string | undefined;
  readonly beats?: string | undefined;
}): string | undefined {
  if (beats !== undefined) {
    if (agents !== undefined && entry === undefined) return undefined;
    throw new UserError({
      code: "OptionInvalid",
      exit: EXIT.usage,
      what: `beats are to run in this process, and there ${entry === undefined ? "are no agents" : "is an entry"}`,
      why: "in this process run the agents that are given as objects, and no worker process begins",
      next: 'write agents: [myAgent], beats: "in this process"',
    });
  }
  const isWhole = (agents === undefined) === (entry === undefined);
  const file = entry === undefined ? null : fileOf(entry);
  if (isWhole && (file === null || existsSync(file) || existsSync(`${file}.js`))) return file ?? undefined;
  throw new UserError({
    code: "WorkerEntryMissing",
    exit: EXIT.usage,
    what: isWhole
      ? `there is no entry ${file}`
      : agents === undefined
        ? "driveStore has an entry and no agents"
        : "driveStore has agents and no entry",
    why: "beats run in processes of their own, which begin with a module that calls workFor({ agents })",
    next: 'driveStore({ agents, entry: new URL("./cairn-worker.js", import.meta.url) })',
  });
}

export const nothingToDrive = (): UserError =>
  new UserError({
    code: "Usage",
    exit: EXIT.usage,
    what: "there is nothing to drive in this world",
    why: "a service drives its runs",
    next: "npx cairn list",
  });
