/**
 * ObjectStore on SQLite: one table, insert or leave. An object never changes once it is there, so that a row which was
 * written by a fenced invocation cannot come to mean something else later.
 */
import type { ObjectStore } from "../../ports/object-store.ts";
import { type Store, reaching } from "./database.ts";

export function sqliteObjectStore(store: Store): ObjectStore {
  const insert = store.objects.prepare("INSERT INTO objects (key, bytes) VALUES (?, ?) ON CONFLICT (key) DO NOTHING");
  const select = store.objects.prepare("SELECT bytes FROM objects WHERE key = ?");
  return {
    put: async (key, bytes) => {
      const { changes } = reaching(store, () => insert.run(key, bytes));
      return { kind: changes === 1 ? "stored" : "exists" };
    },
    get: async (key) => {
      const found = reaching(store, () => select.get(key)) as { bytes: Uint8Array } | undefined;
      return found?.bytes ?? null;
    },
  };
}
