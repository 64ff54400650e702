/** `cairn memory list`, `search` and `show`: what an agent keeps from one run to the next. */
import { DEFAULT_TENANT, isName } from "../../core/ids.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { locateTyped } from "../locate.ts";
import { type Opened, openToRead } from "../open.ts";
import { contextOf, refusedAs } from "../perform.ts";
import { memoryLines, renderEntry, renderMemory } from "../render/memory.ts";
import { type Shell, type StoreFlags, printDocument, printLines } from "../shell.ts";
import { catalogueOf } from "./agent-list.ts";

export interface MemoryFlags extends StoreFlags {
  readonly agent?: string;
  readonly scope?: string;
  readonly tenant?: string;
}

export interface ListFlags extends MemoryFlags {
  readonly limit: number;
}

export async function listEntries(
  shell: Shell,
  of: {
    readonly agent: string | undefined;
    readonly query: string | null;
    readonly flags: ListFlags;
  },
): Promise<number> {
  const { query, flags } = of;
  const { opened, scope, context } = await openMemory(openToRead, shell, {
    ...flags,
    ...(of.agent !== undefined && { agent: of.agent }),
  });
  const { tenant } = context;
  const page = await performOperation(OPERATIONS.memory, context, { scope, query, limit: flags.limit });
  const named = ["--scope", scope, ...(tenant === DEFAULT_TENANT ? [] : ["--tenant", tenant])];
  const forget = (id: string): string => opened.settings.command("memory", "forget", id, ...named, "--yes");
  if (shell.json) printLines(shell, memoryLines(page));
  else shell.terminal.out(renderMemory(page, query, { ...styleOf(shell, opened), forget }));
  const older = page.count - page.damaged.length - page.entries.length;
  if (page.next !== null && !shell.json) shell.terminal.err(`${older} older ones: --limit ${page.entriesMax}`);
  return EXIT.done;
}

export async function showOne(
  shell: Shell,
  { id, flags }: { readonly id: string; readonly flags: MemoryFlags },
): Promise<number> {
  const { opened, scope, context } = await openMemory(openToRead, shell, flags);
  const outcome = await performOperation(OPERATIONS.memoryEntry, context, { scope, id });
  if (outcome.kind === "missing") throw entryUnknown(opened.settings.command, { scope, id });
  if (shell.json) printDocument(shell, { scope, ...outcome.entry });
  else shell.terminal.out(renderEntry(scope, outcome.entry, styleOf(shell, opened)));
  return EXIT.done;
}

/** The store, the memory that the user means, and what its operations are performed with. */
export async function openMemory(open: typeof openToRead, shell: Shell, flags: MemoryFlags) {
  const opened = await open(shell, flags);
  const scope = await scopeIn(shell, opened, flags);
  const { tenant = DEFAULT_TENANT } = flags;
  return { opened, scope, context: contextOf(shell, opened, { tenant }) };
}

const styleOf = ({ terminal }: Shell, { world }: Opened) => ({
  ...{ now: world.clock.now(), paint: terminal.paintOut, width: terminal.width },
});

export const entryUnknown = (
  command: Opened["settings"]["command"],
  { scope, id }: { readonly scope: string; readonly id: string },
): CliError =>
  refusedAs(OPERATIONS.memoryEntry, "missing", {
    what: `the memory ${scope} has no entry ${JSON.stringify(id)}`,
    why: "it was forgotten, has expired, or is in another memory; write the whole ID",
    next: command("memory", "list", "--scope", scope),
    facts: { scope, id },
  });

/** The name of the memory that the user means. */
async function scopeIn(
  shell: Shell,
  { settings }: Pick<Opened, "settings">,
  { agent: name, scope }: MemoryFlags,
): Promise<string> {
  if (scope !== undefined) return checkedScope(scope, name);
  registerResolution();
  if (name !== undefined) {
    const { agent } = await locateTyped(shell, { name, settings });
    return agent.memory?.scope ?? agent.name;
  }
  const { agents } = await catalogueOf({ agentFiles: settings.agentFiles, exampleFiles: [] });
  return onlyScope(
    agents.map((agent) => agent.memory?.scope ?? agent.name),
    (...words) => settings.command(...words),
  );
}

export function checkedScope(scope: string, agent: string | undefined): string {
  const usage = (what: string, why: string, next: string): CliError =>
    new CliError({ code: "Usage", exit: EXIT.usage, what, why, next });
  if (agent !== undefined) throw usage("two memories are named", "write either an agent or --scope", HELP);
  if (isName(scope)) return scope;
  throw usage(`${JSON.stringify(scope)} is no name of a memory`, "it is 1 to 64 letters, digits, - and _", HELP);
}

const HELP = "npx cairn memory list --help";

/** The memory that is meant where none is named. */
export function onlyScope(scopes: readonly string[], command: (...words: readonly string[]) => string): string {
  const known = [...new Set(scopes)].toSorted();
  const [only, other] = known;
  if (only !== undefined && other === undefined) return only;
  const why = only === undefined ? "cairn.config.ts names no agent" : `the agents have several: ${known.join(", ")}`;
  const next = command("memory", "list", "--scope", only ?? "NAME");
  throw new CliError({ code: "Usage", exit: EXIT.usage, what: "no memory is named", why, next, facts: { known } });
}
