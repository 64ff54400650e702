/** The embedded store, as its supervisor drives it. */
import { watch } from "node:fs";
import type { DrivenStore, OrphanPlan, OrphanSearch } from "../../../ports/driven-store.ts";
import { storeClock } from "../clock.ts";
import { type Store, reaching, waitShortly } from "./database.ts";
import { executionsOf } from "./executions.ts";
import { lostOutputKeeper } from "./lost-output.ts";
import { checkInBackground } from "./background-check.ts";
import { childrenOf, releaseSupervision, takeSupervision } from "./processes.ts";
import { provenCodeIn } from "./proven-code.ts";
import { removalsOf } from "./removals.ts";

export const drivenStore = (store: Store): DrivenStore => ({
  clock: () => storeClock(store),
  executions: () => executionsOf(store),
  children: () => childrenOf(store),
  removals: () => removalsOf(store),
  orphanSearch: () => orphanSearchOf(store),
  provenCode: (keep) => provenCodeIn(store, keep),
  takeSupervision: (taking) => takeSupervision(store, taking),
  releaseSupervision: (self) => releaseSupervision(store, self),
  lostOutputKeeper: (writer) => lostOutputKeeper(store, writer),
  checkInBackground: (check) => checkInBackground(store, check),
  watch: (onChange) => watchFiles(store, onChange),
  waitShortly: () => waitShortly(store.rows),
});

/** Any process that commits writes to the log, which is in the same directory. */
function watchFiles({ dir }: Store, onChange: () => void): (() => void) | null {
  try {
    const watcher = watch(dir, { persistent: false }, onChange);
    // Without it the supervisor looks each half second.
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return null;
  }
}

function orphanSearchOf(store: Store): OrphanSearch {
  const select = store.rows.prepare("SELECT value FROM meta WHERE name = 'orphans'");
  const insert = store.rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('orphans', ?)");
  return {
    write: (plan) => void reaching(store, () => insert.run(JSON.stringify(plan))),
    read: () => {
      const found = reaching(store, () => select.get());
      return found === undefined ? null : (JSON.parse(String(found["value"])) as OrphanPlan);
    },
  };
}
