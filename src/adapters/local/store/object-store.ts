/**
 * ObjectStore on SQLite: one table, into which objects are only inserted. An object never changes, so the row of a
 * fenced invocation never points to other content later.
 */
import type { FoundKey, ObjectStore } from "../../../ports/object-store.ts";
import type { Clock } from "../../../ports/world.ts";
import { systemClock } from "../clock.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { roomGiver } from "./give-back-room.ts";

export function sqliteObjectStore(store: Store, clock: Pick<Clock, "now" | "after"> = systemClock): ObjectStore {
  const insert = store.rows.prepare(
    "INSERT INTO objects (key, bytes, putAt) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
  );
  const select = store.rows.prepare("SELECT bytes FROM objects WHERE key = ?");
  const page = store.rows.prepare("SELECT key, putAt FROM objects WHERE key > ? ORDER BY key LIMIT ?");
  const removeSome = removerOf(store);
  const giveBackRoom = roomGiver(store, clock);
  return {
    put: async (key, bytes, durable = "later") => {
      // By default the commit that names it makes it durable.
      const { changes } = reaching(store, () => insert.run(key, bytes, clock.now()), durable);
      return { kind: changes === 1 ? "stored" : "exists" };
    },
    get: async (key) => {
      const found = reaching(store, () => select.get(key)) as { bytes: Uint8Array } | undefined;
      return found?.bytes ?? null;
    },
    keysAfter: async (after, limit) => {
      const found = reaching(store, () => page.all(after, limit)) as unknown as readonly FoundKey[];
      return found.map(({ key, putAt }) => ({ key, putAt }));
    },
    removeUnder: async (prefix) => {
      while (removeSome(prefix) === REMOVED_AT_ONCE);
      await giveBackRoom();
    },
    storeId: async () => store.id,
  };
}

/** Objects per transaction; other processes may write between two of them. */
const REMOVED_AT_ONCE = 100;

/** Deletes a bounded number of objects below a prefix and returns how many. */
function removerOf(store: Store): (prefix: string) => number {
  const below = store.rows.prepare("SELECT key FROM objects WHERE key >= ? AND key < ? LIMIT ?");
  const remove = store.rows.prepare("DELETE FROM objects WHERE key = ?");
  return (prefix) => {
    const access = (): number => {
      // Keys with one prefix are adjacent, and no character sorts after this one.
      const found = below.all(prefix, `${prefix}\u{10FFFF}`, REMOVED_AT_ONCE);
      for (const { key } of found) remove.run(String(key));
      return found.length;
    };
    // The entry of the removed run goes after its objects, so a power loss that takes this back leaves the entry too.
    return atomically(store, access, "later");
  };
}
