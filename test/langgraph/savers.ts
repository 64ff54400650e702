/** Checkpointers over the worlds of this machine, for the tests of `src/langgraph`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryObjectStore, memoryStore } from "../../src/adapters/memory/tables.ts";
import { openCheckpointer } from "../../src/langgraph/index.ts";
import type { Retention } from "../../src/langgraph/retention.ts";
import { CairnSaver } from "../../src/langgraph/saver.ts";
import type { ObjectStore } from "../../src/ports/object-store.ts";

export const DAY_MS = 24 * 3_600_000;

/** A saver on objects in memory, with a clock that the test sets. */
export function memorySaver(retention: Partial<Retention> = {}) {
  const time = { now: Date.UTC(2026, 0, 1) };
  const objects = memoryObjectStore(memoryStore(), { now: () => time.now });
  return { time, objects, saver: saverOver(objects, { time, retention }) };
}

export function saverOver(
  objects: ObjectStore,
  of: { readonly time?: { readonly now: number }; readonly retention?: Partial<Retention> } = {},
): CairnSaver {
  const { time = { now: 0 }, retention } = of;
  return new CairnSaver({
    objects,
    clock: { earliest: () => time.now },
    retention: { checkpointsMax: null, days: null, ...retention },
    close: async () => {},
  });
}

/** A saver on an embedded store in a folder of its own. */
export async function localSaver(retention: Partial<Retention> = {}) {
  const dir = mkdtempSync(join(tmpdir(), "cairn-langgraph-"));
  const saver = await openCheckpointer({ store: join(dir, "store"), retention });
  const remove = async (): Promise<void> => {
    await saver.close();
    rmSync(dir, { recursive: true });
  };
  return { dir: join(dir, "store"), saver, remove };
}
