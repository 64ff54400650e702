/**
 * The processes that work on a store: its one supervisor and the child processes that it started. Each is stored before
 * it does anything, so that after a SIGKILL the next supervisor knows what may still be alive, and kills it first. A
 * child that is stuck in a loop does not notice that its supervisor is gone. Unrecorded, it would go on acting for a
 * run that other processes drive by now.
 */
import { StoreSupervised } from "../../../ports/supervision.ts";
import type { Children, ProcessIdentity } from "../../../ports/driven-store.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { isAlive } from "../process-identity.ts";

/** The live supervisor of this store, or null. */
export function supervisorOf(store: Store): ProcessIdentity | null {
  const found = reaching(store, () => store.rows.prepare("SELECT pid, startedAt FROM supervisor").get());
  const supervisor = found as unknown as ProcessIdentity | undefined;
  return supervisor !== undefined && isAlive(supervisor) ? { ...supervisor } : null;
}

/**
 * Makes this process the supervisor. Throws `StoreSupervised` if a live process, this one included, is the supervisor.
 */
export function takeSupervision(
  store: Store,
  { self, now }: { readonly self: ProcessIdentity; readonly now: number },
): void {
  const { rows, dir } = store;
  atomically(store, () => {
    const other = supervisorOf(store);
    if (other !== null) throw new StoreSupervised({ dir, pid: other.pid, since: supervisedSince(store) });
    rows
      .prepare("INSERT OR REPLACE INTO supervisor (one, pid, startedAt, since) VALUES (1, ?, ?, ?)")
      .run(self.pid, self.startedAt, now);
  });
}

const supervisedSince = ({ rows }: Store): number =>
  Number(rows.prepare("SELECT since FROM supervisor").get()?.["since"]);

export function releaseSupervision(store: Store, self: ProcessIdentity): void {
  const remove = "DELETE FROM supervisor WHERE pid = ? AND startedAt = ?";
  reaching(store, () => store.rows.prepare(remove).run(self.pid, self.startedAt));
}

export function childrenOf(store: Store): Children {
  const select = store.rows.prepare("SELECT pid, startedAt FROM children");
  const insert = store.rows.prepare("INSERT INTO children (pid, startedAt) VALUES (?, ?) ON CONFLICT DO NOTHING");
  const remove = store.rows.prepare("DELETE FROM children WHERE pid = ? AND startedAt = ?");
  return {
    all: () => reaching(store, () => select.all()) as unknown as readonly ProcessIdentity[],
    add: ({ pid, startedAt }) => void reaching(store, () => insert.run(pid, startedAt)),
    remove: ({ pid, startedAt }) => void reaching(store, () => remove.run(pid, startedAt)),
  };
}
