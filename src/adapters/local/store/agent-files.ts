/**
 * Remembers in which file each agent is defined. A run knows only the name of its agent. A later process may drive the
 * store from another directory and with another config, and must find the code again.
 */
import { existsSync } from "node:fs";
import { type Store, atomically, reaching } from "./database.ts";

const itemOf = (agent: string): string => `agent-file ${agent}`;

/** The absolute path of the file from which that agent was last started in this store, or null. */
export function agentFileOf(store: Store, agent: string): string | null {
  const select = "SELECT value FROM meta WHERE name = ?";
  const found = reaching(store, () => store.rows.prepare(select).get(itemOf(agent)));
  return found === undefined ? null : String(found["value"]);
}

/**
 * Remembers the file of an agent. With `keepOther`, an existing other file stays and is returned: the runs of one agent
 * must not go on with the code of another.
 */
export function rememberAgentFile(
  store: Store,
  { agent, file, keepOther }: { readonly agent: string; readonly file: string; readonly keepOther: boolean },
): string | null {
  return atomically(store, () => {
    const known = agentFileOf(store, agent);
    if (keepOther && known !== null && known !== file && existsSync(known)) return known;
    const insert = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)";
    if (known !== file) store.rows.prepare(insert).run(itemOf(agent), file);
    return null;
  });
}
