/**
 * Remembers which code of an agent has completed a beat on this machine. Until then its runs share a process with no other
 * run, since the first thing that new code does may be to end its process.
 */
import type { ProvenCode } from "../../../ports/driven-store.ts";
import { type Store, atomically, reaching } from "./database.ts";

/** How many versions of an agent are remembered, so that a return to an earlier one is none to new code. */
const CODES_MAX = 8;

const itemOf = (agent: string): string => `proven-code ${agent}`;

/** `keep` stores it soon; until then this process remembers it. Neither function throws. */
export function provenCodeIn(store: Store, keep: (write: () => void) => void): ProvenCode {
  const unstored = new Set<string>();
  const read = (agent: string): readonly string[] => {
    const found = store.rows.prepare("SELECT value FROM meta WHERE name = ?").get(itemOf(agent));
    return found === undefined ? [] : String(found["value"]).split(" ");
  };
  const write = (agent: string, code: string): void => {
    const codes = [code, ...read(agent).filter((each) => each !== code)].slice(0, CODES_MAX);
    const insert = store.rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
    insert.run(itemOf(agent), codes.join(" "));
  };
  return {
    has: (agent, code) => {
      if (unstored.has(`${code} ${agent}`)) return true;
      try {
        return reaching(store, () => read(agent)).includes(code);
      } catch {
        // A store that does not answer makes the code new: then its runs share no process for a while.
        return false;
      }
    },
    add: (agent, code) => {
      const name = `${code} ${agent}`;
      unstored.add(name);
      keep(() => {
        atomically(store, () => write(agent, code));
        unstored.delete(name);
      });
    },
  };
}
