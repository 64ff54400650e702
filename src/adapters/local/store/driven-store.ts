/** The embedded store, as its supervisor drives it. */
import type { DrivenStore, OrphanPlan, OrphanSearch } from "../../../ports/driven-store.ts";
import { storeClock } from "../clock.ts";
import { type Store, reaching, waitShortly } from "./database.ts";
import { executionsOf } from "./executions.ts";
import { lostOutputKeeper } from "./lost-output.ts";
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
  waitShortly: () => waitShortly(store.rows),
});

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
