/** `cairn memory` over HTTP. */
import { CairnError } from "../../client/errors.ts";
import { checkedScope, entryUnknown, onlyScope } from "../commands/memory.ts";
import { CliError, EXIT } from "../errors.ts";
import { memoryLines, renderEntry, renderMemory } from "../render/memory.ts";
import { count } from "../render/words.ts";
import { type Answer, type Remote, type RemoteCommand, textIn } from "./command.ts";

export const MEMORY_COMMANDS: Readonly<Record<string, RemoteCommand>> = {
  "memory list": (of) => listed(of, null),
  // The words of a search are one argument.
  "memory search": (of) => listed(of, of.words.flat().join(" ")),
  "memory show": async (of) => {
    const {
      client,
      words: [id = ""],
      style,
    } = of;
    const scope = await scopeAt(of);
    const entry = await client.memoryEntry(scope, id).catch(unknownIn(of, { scope, id }));
    return { document: { scope, ...entry }, text: renderEntry(scope, entry, style) };
  },
  "memory forget": async (of) => {
    const {
      client,
      words: [id],
      flags,
      command,
    } = of;
    const scope = await scopeAt(of);
    const named = id === undefined ? ["--all"] : [id];
    if (flags["yes"] !== true)
      throw notConfirmed(scope, command("memory", "forget", ...named, "--scope", scope, "--yes"));
    const why = textIn(flags, "why") ?? "";
    if (id !== undefined) {
      await client.forgetEntry(scope, id, { why }).catch(unknownIn(of, { scope, id }));
      return { document: { scope, id, forgotten: true }, text: `${id} is forgotten: no later run recalls it` };
    }
    const [entries, sources] = await forgetAll(of, { scope, why });
    const text = `${count(entries, "entry", "entries")} and ${count(sources, "source")} of memory ${scope} are forgotten`;
    return { document: { scope, entries, sources }, text };
  },
};

async function listed(of: Remote, query: string | null): Promise<Answer> {
  const { client, flags, style, command } = of;
  const limit = flags["limit"] as number;
  const scope = await scopeAt(of, query === null ? of.words[0] : undefined);
  const page = await client.memory(scope, { limit, ...(query !== null && { query }) });
  const forget = (id: string): string => command("memory", "forget", id, "--scope", scope, "--yes");
  return { lines: memoryLines(page), text: renderMemory(page, query, { ...style, forget }) };
}

async function forgetAll(
  { client }: Remote,
  { scope, why }: { readonly scope: string; readonly why: string },
): Promise<readonly [entries: number, sources: number]> {
  let [entries, sources] = [0, 0];
  for (let isMore = true; isMore;) {
    const outcome = await client.forgetMemory(scope, { confirmed: true, why });
    entries += outcome.entries;
    sources += outcome.sources;
    isMore = outcome.more;
  }
  return [entries, sources];
}

/** The name of the memory that is meant. An agent that the API does not list has a memory of its own name. */
async function scopeAt({ client, flags, command }: Remote, typed?: string): Promise<string> {
  const agent = typed ?? textIn(flags, "agent");
  const scope = textIn(flags, "scope");
  if (scope !== undefined) return checkedScope(scope, agent);
  const { agents } = await client.agents();
  if (agent !== undefined) return agents.find(({ name }) => name === agent)?.memory ?? agent;
  return onlyScope(
    agents.map(({ memory }) => memory),
    command,
  );
}

const unknownIn =
  ({ command }: Remote, named: Parameters<typeof entryUnknown>[1]) =>
  (error: unknown): never => {
    throw error instanceof CairnError && error.code === "MemoryEntryUnknown" ? entryUnknown(command, named) : error;
  };

const notConfirmed = (scope: string, next: string): CliError =>
  new CliError({
    ...{ code: "NotConfirmed", exit: EXIT.usage, what: `nothing of memory ${scope} is forgotten`, next },
    why: "it cannot be taken back, so it needs --yes",
  });
