/**
 * Which file the agent of a name lies in. A run knows its agent by name only; whoever drives the store later, from
 * another directory and with another config, has to find the code again.
 */
import { existsSync } from "node:fs";
import { type Store, atomically, reaching } from "./database.ts";

const itemOf = (agent: string): string => `agent-file ${agent}`;

/** The absolute path under which that agent was started last in this store, or null. */
export function agentFileOf(store: Store, agent: string): string | null {
  const select = "SELECT value FROM meta WHERE name = ?";
  const found = reaching(store, () => store.rows.prepare(select).get(itemOf(agent)));
  return found === undefined ? null : String(found["value"]);
}

/**
 * Remembers it. With `keepOther`, a file that is there and is another one stays, and is returned: runs of the one must
 * not go on with the code of the other.
 */
export function rememberAgentFile(
  store: Store,
  of: { readonly agent: string; readonly file: string; readonly keepOther: boolean },
): string | null {
  const { agent, file, keepOther } = of;
  return atomically(store, () => {
    const known = agentFileOf(store, agent);
    if (keepOther && known !== null && known !== file && existsSync(known)) return known;
    const insert = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)";
    if (known !== file) store.rows.prepare(insert).run(itemOf(agent), file);
    return null;
  });
}
