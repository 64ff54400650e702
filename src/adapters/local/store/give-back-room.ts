/** Gives the room of deleted objects back to the file system. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../ports/world.ts";
import { type Store, failureOf } from "./database.ts";

/** Free pages that a store keeps for the next writes. The rest is returned to the file system. */
const FREE_PAGES_KEPT = 256;
/** Room is given back once so much more is free, since each time the whole log is written back. */
const FREE_PAGES_MORE = 1_024;
const PAGES_AT_ONCE = 1_024;

/**
 * Shrinks the file by what was deleted, a few megabytes at a time, so that no writer waits for long.
 *
 * The file itself shrinks when the whole log is written back to it. That stops at the oldest page that another process
 * reads at this moment: reader begins, room is given back, the log is written back in part, reader ends. Nothing would
 * write back the rest before the log is long, so it is tried again for a while (`shrinks once a reader is through`, in
 * test/workers/retention.test.ts). No attempt waits for another process.
 *
 * What SQLite reports of an attempt is no proof: the log is written back, a writer of another process commits, SQLite
 * sees that the log has grown and does not shorten the file, and it reports all of what it had begun with as written
 * back (`shrinks although another process wrote meanwhile`, in the same file). So the length of the file decides.
 */
export function roomGiver({ dir, rows }: Store, { after }: Pick<Clock, "after">): () => Promise<void> {
  const countFree = rows.prepare("PRAGMA freelist_count");
  const writeBack = rows.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  const measure = rows.prepare("SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size");
  const free = (): number => (countFree.get() as { freelist_count: number }).freelist_count;
  const isShort = (): boolean => statSync(join(dir, "cairn.sqlite")).size <= Number(measure.get()?.["bytes"]);
  return async () => {
    try {
      if (free() <= FREE_PAGES_KEPT + FREE_PAGES_MORE && isShort()) return;
      let before = Infinity;
      for (let left = free(); left > FREE_PAGES_KEPT && left < before; left = free()) {
        before = left;
        rows.exec(`PRAGMA incremental_vacuum(${Math.min(PAGES_AT_ONCE, left - FREE_PAGES_KEPT)})`);
      }
      for (const pauseMs of WRITE_BACK_PAUSES_MS) {
        if (pauseMs > 0) await new Promise<void>((resolve) => void after(pauseMs, resolve));
        writeBack.get();
        if (isShort()) return;
      }
    } catch (error) {
      throw failureOf(error, { rows, dir });
    }
  };
}

/** Before each attempt, two seconds in all. A process reads for milliseconds, unless it is stopped meanwhile. */
const WRITE_BACK_PAUSES_MS = [0, 5, 10, 20, 40, 80, 160, 320, 640, 640];
