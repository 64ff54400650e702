/** `cairn memory list`, `search` and `show`: what an agent keeps from one run to the next. */
import { DEFAULT_TENANT, isName } from "../../core/ids.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { locateTyped } from "../../compose/locate.ts";
import { refusedAs } from "../perform.ts";
import { memoryLines, renderEntry, renderMemory } from "../../render/memory.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument, printLines } from "../shell.ts";
import { catalogueOf } from "../../compose/catalogue.ts";
import { transportToRead } from "../choose-transport.ts";
import { styleOf } from "../style.ts";
import type { Transport } from "../transport.ts";

export interface MemoryFlags extends StoreFlags {
  readonly agent?: string;
  readonly scope?: string;
  readonly tenant?: string;
}

export interface MemoryListFlags extends MemoryFlags {
  readonly limit: number;
}

export async function listEntries(
  shell: Shell,
  {
    query,
    flags,
    agent,
  }: {
    readonly agent: string | undefined;
    readonly query: string | null;
    readonly flags: MemoryListFlags;
  },
): Promise<number> {
  const { transport, scope, local } = await openMemory(transportToRead, shell, {
    ...flags,
    ...(agent !== undefined && { agent }),
  });
  const { tenant } = local;
  const page = await transport.perform("memory", { scope, query, limit: flags.limit }, local);
  const named = ["--scope", scope, ...(tenant === DEFAULT_TENANT ? [] : ["--tenant", tenant])];
  const forget = (id: string): string => transport.command("memory", "forget", id, ...named, "--yes");
  if (shell.json) printLines(shell, memoryLines(page));
  else shell.terminal.out(renderMemory(page, query, { ...styleOf(shell, transport), forget }));
  const older = page.count - page.damaged.length - page.entries.length;
  if (page.next !== null && !shell.json) shell.terminal.err(`${older} older ones: --limit ${page.entriesMax}`);
  return EXIT.done;
}

export async function showOne(
  shell: Shell,
  { id, flags }: { readonly id: string; readonly flags: MemoryFlags },
): Promise<number> {
  const { transport, scope, local } = await openMemory(transportToRead, shell, flags);
  const outcome = await transport.perform("memoryEntry", { scope, id }, local);
  if (outcome.kind === "missing") throw entryUnknown(transport.command, { scope, id });
  if (shell.json) printDocument(shell, { scope, ...outcome.entry });
  else shell.terminal.out(renderEntry(scope, outcome.entry, styleOf(shell, transport)));
  return EXIT.done;
}

/** The store, the memory that the user means, and what its operations are performed with. */
export async function openMemory(open: typeof transportToRead, shell: Shell, flags: MemoryFlags) {
  const transport = await open(shell, flags);
  const scope = await scopeIn(shell, transport, flags);
  const { tenant = DEFAULT_TENANT } = flags;
  return { transport, scope, local: { tenant } };
}

export const entryUnknown = (
  command: Transport["command"],
  { scope, id }: { readonly scope: string; readonly id: string },
): UserError =>
  refusedAs(OPERATIONS.memoryEntry, "missing", {
    what: `the memory ${scope} has no entry ${JSON.stringify(id)}`,
    why: "it was forgotten, has expired, or is in another memory; write the whole ID",
    next: command("memory", "list", "--scope", scope),
    facts: { scope, id },
  });

/** The name of the memory that the user means. */
async function scopeIn(
  shell: Shell,
  { opened, perform, command }: Transport,
  { agent: name, scope }: MemoryFlags,
): Promise<string> {
  if (scope !== undefined) return checkedScope(scope, name);
  if (opened === null) {
    const { agents } = await perform("agents", {});
    // An agent that the API does not list has a memory of its own name.
    if (name !== undefined) return agents.find((each) => each.name === name)?.memory ?? name;
    return onlyScope(
      agents.map(({ memory }) => memory),
      command,
    );
  }
  const { settings } = opened;
  registerResolution();
  if (name !== undefined) {
    const { agent } = await locateTyped(shell, { name, settings });
    return agent.memory?.scope ?? agent.name;
  }
  const { agents } = await catalogueOf({ ...settings, exampleFiles: [] });
  return onlyScope(
    agents.map((agent) => agent.memory?.scope ?? agent.name),
    command,
  );
}

function checkedScope(scope: string, agent: string | undefined): string {
  const usage = (what: string, why: string, next: string): UserError =>
    new UserError({ code: "Usage", exit: EXIT.usage, what, why, next });
  if (agent !== undefined) throw usage("two memories are named", "write either an agent or --scope", HELP);
  if (isName(scope)) return scope;
  throw usage(`${JSON.stringify(scope)} is no name of a memory`, "it is 1 to 64 letters, digits, - and _", HELP);
}

const HELP = "npx cairn memory list --help";

/** The memory that is meant where none is named. */
function onlyScope(scopes: readonly string[], command: (...words: readonly string[]) => string): string {
  const known = [...new Set(scopes)].toSorted();
  const [only, other] = known;
  if (only !== undefined && other === undefined) return only;
  const why = only === undefined ? "cairn.config.ts names no agent" : `the agents have several: ${known.join(", ")}`;
  const next = command("memory", "list", "--scope", only ?? "NAME");
  throw new UserError({ code: "Usage", exit: EXIT.usage, what: "no memory is named", why, next, facts: { known } });
}
