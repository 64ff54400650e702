/** The embedded world: the machine that it is on, its store, and whether anybody works on its runs. */
import { NEARLY_FULL, type StoreSeen } from "./inspection.ts";
import type { Limits } from "../../protocol/limits.ts";
import { MEMORY_ENTRIES_MAX } from "../../ports/memory.ts";
import { describeDoubt } from "../../ports/clock-doubt.ts";
import { type Check, type Verdict, fail, judgeGap, judgeDamaged, ok, unknown, warn } from "../../ports/diagnosis.ts";

/** A store that cannot be opened, and one that is not there yet. */
export type StoreLook =
  | { readonly kind: "seen"; readonly store: StoreSeen }
  | { readonly kind: "broken"; readonly why: string }
  | { readonly kind: "missing"; readonly dir: string };

export interface LocalCase {
  readonly look: StoreLook;
  readonly limits: Limits;
  /** Epoch milliseconds. */
  readonly now: number;
  /** A command to type that means the same store. */
  readonly command: (...words: readonly string[]) => string;
}

const FREE_LOW = 1024 ** 3;
const FREE_LEAST = 100 * 1024 ** 2;

const judgeStore = ({ look }: LocalCase, judge: (store: StoreSeen) => Verdict): Verdict =>
  look.kind === "seen" ? judge(look.store) : unknown("there is no store to check", "start a run first");

export const LOCAL_CHECKS: readonly Check<LocalCase>[] = [
  {
    id: "store",
    says: "the store can be opened",
    judge: ({ look, command }) => {
      switch (look.kind) {
        case "broken":
          return fail(look.why, "fix what the message says, or name another directory with --store");
        case "missing":
          return unknown(`there is none at ${look.dir} yet`, `the first run creates it: ${command("start", "AGENT")}`);
        case "seen":
          return look.store.journalMode === "wal"
            ? ok(`${look.store.dir}, with a write-ahead log`)
            : fail(`its journal mode is ${look.store.journalMode}`, "keep it in a directory on a local disk");
      }
    },
  },
  {
    id: "store-writable",
    says: "it accepts a write",
    needs: ["store"],
    judge: (of) =>
      judgeStore(of, ({ refuses, dir }) => {
        const mend = `make ${dir} writable for this user, or find the process that keeps it busy`;
        return refuses === null ? ok("a write was started, and rolled back") : fail(refuses, mend);
      }),
  },
  {
    id: "store-whole",
    says: "its file is undamaged",
    needs: ["store"],
    judge: (of) =>
      judgeStore(of, ({ faults, dir }) => {
        const mend = `stop every process that uses it, then restore ${dir}/cairn.sqlite from a backup`;
        return faults.length === 0 ? ok("SQLite's integrity check found nothing") : fail(faults.join("; "), mend);
      }),
  },
  {
    id: "rows",
    says: "the row of every run can be decoded",
    needs: ["store"],
    judge: (of) => judgeStore(of, ({ damaged }) => judgeRows(damaged, of)),
  },
  {
    id: "disk",
    says: "there is room on its disk",
    needs: ["store"],
    judge: (of) =>
      judgeStore(of, ({ freeBytes }) => {
        const why = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB are free`;
        const mend = "free some space; ended runs are removed after a day, or with cairn purge RUN";
        if (freeBytes < FREE_LEAST) return fail(why, mend);
        return freeBytes < FREE_LOW ? warn(why, mend) : ok(why);
      }),
  },
  {
    id: "memory",
    says: "each memory has room for what runs learn",
    needs: ["store"],
    judge: (of) => judgeStore(of, (store) => judgeMemories(store, of)),
  },
  {
    id: "clock",
    says: "the clock did not jump, and is not behind the newest entry",
    needs: ["store"],
    judge: (of) => judgeStore(of, (store) => judgeClock(store, of)),
  },
  {
    id: "work",
    says: "a process works on its runs",
    needs: ["store"],
    judge: (of) => judgeStore(of, (store) => judgeWork(store, of)),
  },
];

function judgeRows(damaged: StoreSeen["damaged"], { command }: LocalCase): Verdict {
  if (damaged === null) return unknown("the file is too damaged to be searched", "restore the file first");
  return judgeDamaged(damaged, { seen: "every row was decoded", verify: (run) => command("verify", run) });
}

function judgeMemories({ memories }: StoreSeen, { command }: LocalCase): Verdict {
  const [first] = memories;
  if (first === undefined) return ok(`none has ${NEARLY_FULL} entries; ${MEMORY_ENTRIES_MAX} are allowed`);
  const named = memories.map(({ tenant, scope, entries }) => `${scope} of tenant ${tenant} has ${entries} entries`);
  const why = `${named.join(", ")}; ${MEMORY_ENTRIES_MAX} are allowed, and a full memory keeps nothing new`;
  return warn(why, command("memory", "list", "--scope", first.scope, "--tenant", first.tenant));
}

function judgeClock({ clock, latestAt }: StoreSeen, { limits, now }: LocalCase): Verdict {
  if (clock !== null) {
    const { what, why, mend } = describeDoubt(clock);
    return fail(`${what}; ${why}`, mend);
  }
  const gapMs = Math.max(0, latestAt - now);
  return judgeGap(gapMs, { skewMs: limits.skewMs, whose: "the latest entry of the store" });
}

function judgeWork({ supervisor, runs }: StoreSeen, { command }: LocalCase): Verdict {
  const { live, overdue } = runs;
  if (supervisor === null) {
    const why = `no process works on it, with ${liveRuns(live)}, ${overdue} of them overdue`;
    return live === 0 ? ok("no process, and no run is live") : warn(why, command("work"));
  }
  const why = `process ${supervisor}, ${liveRuns(live)}`;
  const mend = `read its output; if it is stuck: kill ${supervisor}, then ${command("work")}`;
  return overdue === 0 ? ok(why) : warn(`${why}, ${overdue} of them overdue: it has too much to do, or is stuck`, mend);
}

const liveRuns = (live: number): string => `${live} live ${live === 1 ? "run" : "runs"}`;
