/**
 * Which processes work on a store: its one supervisor, and the children that it started. Both are in the store before
 * they do anything, so that whoever comes after a SIGKILL knows what may still be alive and ends it first. A child that
 * is stuck in a loop does not see that its supervisor is gone; unrecorded, it would go on acting for a run that others
 * drive by now.
 */
import { StoreSupervised } from "../../ports/supervision.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { type ProcessIdentity, isAlive } from "./process-identity.ts";

/** The live supervisor of this store, or null. */
export function supervisorOf(store: Store): ProcessIdentity | null {
  const found = reaching(store, () => store.rows.prepare("SELECT pid, startedAt FROM supervisor").get());
  const supervisor = found as unknown as ProcessIdentity | undefined;
  return supervisor !== undefined && isAlive(supervisor) ? { ...supervisor } : null;
}

/** Beside the row and not in it: a store that was made before this was told is read and written as it is. */
const SINCE = "supervised since";

/** @throws StoreSupervised if a live process, this one included, has it. */
export function takeSupervision(store: Store, of: { readonly self: ProcessIdentity; readonly now: number }): void {
  const { self, now } = of;
  const { rows, dir } = store;
  atomically(store, () => {
    const other = supervisorOf(store);
    if (other !== null) throw new StoreSupervised({ dir, pid: other.pid, since: supervisedSince(store) });
    rows
      .prepare("INSERT OR REPLACE INTO supervisor (one, pid, startedAt) VALUES (1, ?, ?)")
      .run(self.pid, self.startedAt);
    rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(SINCE, String(now));
  });
}

function supervisedSince({ rows }: Store): number | null {
  const found = rows.prepare("SELECT value FROM meta WHERE name = ?").get(SINCE);
  return found === undefined ? null : Number(found["value"]);
}

export function releaseSupervision(store: Store, self: ProcessIdentity): void {
  const remove = "DELETE FROM supervisor WHERE pid = ? AND startedAt = ?";
  reaching(store, () => store.rows.prepare(remove).run(self.pid, self.startedAt));
}

export interface Children {
  readonly all: () => readonly ProcessIdentity[];
  readonly add: (child: ProcessIdentity) => void;
  readonly remove: (child: ProcessIdentity) => void;
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
