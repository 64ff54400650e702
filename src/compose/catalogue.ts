/**
 * The catalogue of agents: those of the config, and files outside of it that were started in this store.
 *
 * An agent's name is inside its file, so a search by name imports files. A file that cannot be imported is reported,
 * and does not hide the others.
 */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "../ports/agent.ts";
import { wrongWithChildren } from "../sdk/check.ts";
import { loadAgentFile } from "../sdk/load.ts";
import { withoutGatewayKey } from "./check-here.ts";
import { transformerMissing } from "./transformer-missing.ts";
import { sentenceOf } from "../codec/value.ts";
import { UserError, EXIT } from "./user-error.ts";
import type { Settings } from "./settings.ts";
import { commandLine } from "../render/words.ts";
import { nearest } from "../sdk/nearest.ts";

/** An agent and the file that exports it. */
export interface Located {
  readonly agent: Agent;
  /** The absolute path of its file. */
  readonly file: string;
}

/** The agents of some files, and the files that could not be imported. */
export interface Catalogue {
  readonly agents: readonly Located[];
  readonly broken: readonly { readonly file: string; readonly why: string; readonly cause?: unknown }[];
}

/** Imports these files. A file that cannot be imported is listed as broken; this never rejects for it. */
export async function readCatalogue(files: readonly string[]): Promise<Catalogue> {
  const agents: Located[] = [];
  const broken: { file: string; why: string; cause: unknown }[] = [];
  for (const file of files) {
    try {
      for (const agent of await loadAgentFile(file)) agents.push({ agent, file });
    } catch (error) {
      broken.push({ file, why: sentenceOf(error), cause: error });
    }
  }
  return { agents, broken };
}

/**
 * Imports all agent files that there are. An agent whose child tools name an agent that none of them exports is listed
 * as broken.
 */
export async function readWholeCatalogue(files: readonly string[]): Promise<Catalogue> {
  const catalogue = await readCatalogue(files);
  const wrong = new Map(catalogue.agents.map((each) => [each, wrongWithLocated(each, catalogue)]));
  return {
    agents: catalogue.agents.filter((each) => wrong.get(each) === null),
    broken: [
      ...catalogue.broken,
      ...[...wrong].flatMap(([{ file }, why]) => (why === null ? [] : [{ file, why: `${why} (${file})` }])),
    ],
  };
}

/** The agents that a command or the server can start by name, apart from files that only the store remembers. */
export async function catalogueOf(settings: Pick<Settings, "agentFiles" | "exampleFiles" | "world">) {
  const { agents, broken } = await readWholeCatalogue([...settings.agentFiles, ...settings.exampleFiles]);
  const found = await Promise.all(
    agents.map(async ({ agent, file }) => {
      const why = await withoutGatewayKey(agent, settings);
      return { agent, why: why && `agent ${agent.name}: ${why.message} (${file})` };
    }),
  );
  return {
    agents: found.flatMap(({ agent, why }) => (why === null ? [agent] : [])),
    broken: [...broken.map(({ why }) => why), ...found.flatMap(({ why }) => why ?? [])],
  };
}

/** Why the agent cannot hand out work among all agents that there are. A file that cannot be imported may have more. */
export function wrongWithLocated({ agent }: Located, { agents, broken }: Catalogue): string | null {
  if (broken.length > 0) return null;
  const why = wrongWithChildren(
    agent,
    agents.map((each) => each.agent.name),
  );
  return why === null ? null : `agent ${agent.name}: ${why}`;
}

/**
 * The agent of that name, or null. Two different agents with one name are refused, because a run could get the code of
 * either.
 */
export function agentNamed({ agents }: Catalogue, name: string): Located | null {
  const named = agents.filter(({ agent }) => agent.name === name);
  const [first] = named;
  const other = named.find(({ agent }) => agent !== first?.agent);
  if (first === undefined || other === undefined) return first ?? null;
  throw agentClash({ name, file: first.file, other: other.file, next: commandLine(["list"]) });
}

/** Whether the text names a file: `./my-agent.ts` or, if a file exports several agents, `./my-agent.ts#name`. */
export const isFileName = (text: string): boolean => /[/\\]|\.([cm]?[jt]s|[jt]sx)(#|$)/.test(text);

/** The agent of a file that the user typed. `cwd`: the directory to which the path is relative. */
export async function agentInFile(cwd: string, text: string): Promise<Located> {
  const [path = "", name] = text.split("#");
  const file = resolve(cwd, path);
  if (!existsSync(file)) {
    const why = `the path is resolved from ${cwd}, and no file is there`;
    throw new UserError({
      code: "AgentFileMissing",
      exit: EXIT.notFound,
      what: `there is no agent file ${file}`,
      why,
      next: commandLine(["start", "./FILE.ts"]),
    });
  }
  return agentAt(asSpelled(file), { path, name });
}

/**
 * The path as the file system spells it. macOS finds a file whatever the case of the letters, and Node would load it a
 * second time under each spelling: its agents would look like those of another file. Links stay as they were typed.
 */
export function asSpelled(file: string, realPath: (file: string) => string = realpathSync.native): string {
  const real = realPath(file);
  return real.toLowerCase() === file.toLowerCase() ? real : file;
}

async function agentAt(
  file: string,
  { path, name }: { readonly path: string; readonly name: string | undefined },
): Promise<Located> {
  const agents = await loadAgentFile(file);
  const [only] = agents.length === 1 && name === undefined ? agents : agents.filter((agent) => agent.name === name);
  if (only !== undefined) return { agent: only, file };
  const names = agents.map((agent) => agent.name);
  throw new UserError({
    code: "AgentUnknown",
    exit: EXIT.notFound,
    what: name === undefined ? `${file} exports ${names.length} agents` : `${file} exports no agent named ${name}`,
    why: `its agents are: ${names.join(", ")}`,
    next: commandLine(["start", `${path}#${names[0] ?? ""}`]),
    facts: { known: names },
  });
}

/** The error for an unknown agent name. It lists the known names. `instead`: the command with another name. */
export function agentNameUnknown({
  name,
  catalogue,
  hasConfig,
  instead,
}: {
  readonly name: string;
  readonly catalogue: Catalogue;
  readonly hasConfig: boolean;
  readonly instead: (agent: string) => string;
}): UserError {
  // The agent may be in the file that cannot be loaded.
  const missing = catalogue.broken.map(({ cause }) => transformerMissing(cause)).find((each) => each !== null);
  if (missing) return missing;
  const known = [...new Set(catalogue.agents.map(({ agent }) => agent.name))].toSorted();
  const broken = catalogue.broken.map(({ why }) => why);
  // The agent is probably in a file that cannot be loaded, if no other name is like it.
  const meant = nearest(name, known) ?? (broken.length > 0 ? null : (known[0] ?? "./FILE.ts"));
  const whose = hasConfig ? "cairn.config.ts" : "there is no cairn.config.ts here, and cairn itself";
  const names = known.length === 0 ? `${whose} names no agent` : `${whose} names these agents: ${known.join(", ")}`;
  return new UserError({
    code: "AgentUnknown",
    exit: EXIT.notFound,
    what: `there is no agent named ${JSON.stringify(name)}`,
    why: [names, ...broken].join("; "),
    next: meant === null ? `${instead(name)}  # after you correct that file` : instead(meant),
    facts: { known },
  });
}

/** The error for two files that use one agent name. */
export function agentClash({
  name,
  file,
  other,
  next,
}: {
  readonly name: string;
  readonly file: string;
  readonly other: string;
  readonly next: string;
}): UserError {
  return new UserError({
    code: "AgentClash",
    exit: EXIT.refused,
    what: `two agents are named ${name}, in ${file} and in ${other}`,
    why: "a run stores only the name of its agent, so it could continue with the wrong code; rename one agent, or use two stores",
    next,
  });
}
