/**
 * Keeps in the store how much of its output the supervisor could not write. Its log is what is missing, so another process
 * has to say it: `cairn doctor`.
 */
import type { ProcessIdentity } from "../../../ports/driven-store.ts";
import type { LostLines } from "../../../ports/supervision.ts";
import { type Store, atomically, reaching } from "./database.ts";

const ITEM = "lost-output";

/** What that process has lost, as it said last; null: nothing. */
export function lostOutputOf(store: Store, { pid, startedAt }: ProcessIdentity): LostLines | null {
  const found = reaching(store, () => store.rows.prepare("SELECT value FROM meta WHERE name = ?").get(ITEM));
  const [writer, lines, ...why] = String(found?.["value"] ?? "").split("\n");
  return writer === `${pid} ${startedAt}` ? { lines: Number(lines), why: why.join(" ") } : null;
}

/** Returns a function that stores what is lost if that has grown. It does not throw: what is not stored, is later. */
export function lostOutputKeeper(store: Store, { pid, startedAt }: ProcessIdentity): (lost: LostLines | null) => void {
  const insert = store.rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)");
  let kept = 0;
  return (lost) => {
    if (lost === null || lost.lines === kept) return;
    try {
      atomically(store, () => insert.run(ITEM, `${pid} ${startedAt}\n${lost.lines}\n${lost.why}`));
      kept = lost.lines;
    } catch {
      // The store may be held, or on the same full disk.
    }
  };
}
