/** The embedded world: the machine that it is on, its store, and whether anybody works on its runs. */
import { NEARLY_FULL, type StoreSeen } from "../../adapters/local/inspection.ts";
import { INIT_PROCESS, type Reaping, describeNoReaper } from "../../workers/orphans.ts";
import type { Limits } from "../../protocol/limits.ts";
import { MEMORY_ENTRIES_MAX } from "../../ports/memory.ts";
import type { LostLines } from "../../ports/supervision.ts";
import { describeDoubt } from "../../ports/clock-doubt.ts";
import {
  type DiagnosisCheck,
  type CheckVerdict,
  fail,
  judgeGap,
  judgeDamaged,
  ok,
  unknown,
  warn,
} from "../../ports/diagnosis.ts";

/** What was seen of a store, and of the process that works on it. */
export interface StoreAtWork extends StoreSeen {
  /** The process ID of the live supervisor, or null. */
  readonly supervisor: number | null;
  /** What of its output the live supervisor could not write, or null. */
  readonly lostOutput: LostLines | null;
  /** The secrets that a process of this store had lately, and that this one lacks; and the file that it looked in. */
  readonly unread: { readonly names: readonly string[]; readonly file: string };
}

/** A store that cannot be opened, and one that is not there yet. */
export type StoreLook =
  | { readonly kind: "seen"; readonly store: StoreAtWork }
  | { readonly kind: "broken"; readonly why: string }
  | { readonly kind: "missing"; readonly dir: string };

export interface LocalCase {
  readonly look: StoreLook;
  readonly limits: Limits;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The process that leaves orphans as zombies, if there is one. */
  readonly reaping: Reaping;
  /** A command to type that means the same store. */
  readonly command: (...words: readonly string[]) => string;
}

const FREE_LOW = 1024 ** 3;
const FREE_LEAST = 100 * 1024 ** 2;

const judgeStore = ({ look }: LocalCase, judge: (store: StoreAtWork) => CheckVerdict): CheckVerdict =>
  look.kind === "seen" ? judge(look.store) : unknown("there is no store to check", "start a run first");

/** The checks of that case. Where the system does not show processes, nothing is said of orphans. */
export const localChecks = ({ reaping }: LocalCase): readonly DiagnosisCheck<LocalCase>[] =>
  reaping === "unseen" ? LOCAL_CHECKS.filter(({ id }) => id !== "orphans") : LOCAL_CHECKS;

export const LOCAL_CHECKS: readonly DiagnosisCheck<LocalCase>[] = [
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
    judge: (local) =>
      judgeStore(local, ({ refuses, dir }) => {
        const mend = `make ${dir} writable for this user, or find the process that keeps it busy`;
        return refuses === null ? ok("a write was started, and rolled back") : fail(refuses, mend);
      }),
  },
  {
    id: "store-secrets",
    says: "an input can be searched for each secret that it may hold",
    needs: ["store"],
    judge: (local) =>
      judgeStore(local, ({ unread: { names, file } }) => {
        if (names.length === 0) return ok("each secret that processes of this store have is known here");
        const list = names.join(", ");
        const why = `a process of this store has ${list}, which is neither in the environment here nor in ${file}`;
        return fail(`${why}: an input is not kept then (SecretUnread)`, `set ${list} here, too`);
      }),
  },
  {
    id: "store-whole",
    says: "its file is undamaged",
    needs: ["store"],
    judge: (local) =>
      judgeStore(local, ({ faults, dir, isWhole, checkedAt }) => {
        const mend = `stop every process that uses it, then restore ${dir}/cairn.sqlite from a backup`;
        if (faults.length > 0) return fail(faults.join("; "), mend);
        if (isWhole) return ok("SQLite's integrity check found nothing");
        const now = local.command("doctor", "--whole-store");
        if (checkedAt === 0) return unknown("it is large, and no supervisor has checked all of it yet", now);
        return ok(`a supervisor checked all of it at ${new Date(checkedAt).toISOString()}; ${now} checks it now`);
      }),
  },
  {
    id: "rows",
    says: "the row of every run can be decoded",
    needs: ["store"],
    judge: (local) => judgeStore(local, (seen) => judgeRows(seen, local)),
  },
  {
    id: "disk",
    says: "there is room on its disk",
    needs: ["store"],
    judge: (local) =>
      judgeStore(local, ({ freeBytes }) => {
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
    judge: (local) => judgeStore(local, (store) => judgeMemories(store, local)),
  },
  {
    id: "clock",
    says: "the clock did not jump, and is not behind the newest entry",
    needs: ["store"],
    judge: (local) => judgeStore(local, (store) => judgeClock(store, local)),
  },
  {
    id: "orphans",
    says: "what tools leave behind is reaped",
    judge: ({ reaping }) => {
      if (reaping === "unseen") return unknown("this system does not say", INIT_PROCESS);
      if (reaping === null) return ok("an orphan was reaped");
      const { what, why } = describeNoReaper(reaping);
      return warn(`${what}; ${why}`, INIT_PROCESS);
    },
  },
  {
    id: "work",
    says: "a process works on its runs",
    needs: ["store"],
    judge: (local) => judgeStore(local, (store) => judgeWork(store, local)),
  },
  {
    id: "output",
    says: "what that process prints is written",
    needs: ["store"],
    judge: (local) => judgeStore(local, judgeOutput),
  },
];

function judgeRows({ damaged, isWhole }: StoreSeen, { command }: LocalCase): CheckVerdict {
  if (damaged === null) return unknown("the file is too damaged to be searched", "restore the file first");
  return judgeDamaged(damaged, {
    seen: isWhole ? "every row was decoded" : "the row of each run that has not ended was decoded",
    verify: (run) => command("verify", run),
  });
}

function judgeMemories({ memories }: StoreSeen, { command }: LocalCase): CheckVerdict {
  const [first] = memories;
  if (first === undefined) return ok(`none has ${NEARLY_FULL} entries; ${MEMORY_ENTRIES_MAX} are allowed`);
  const named = memories.map(({ tenant, scope, entries }) => `${scope} of tenant ${tenant} has ${entries} entries`);
  const why = `${named.join(", ")}; ${MEMORY_ENTRIES_MAX} are allowed, and a full memory keeps nothing new`;
  return warn(why, command("memory", "list", "--scope", first.scope, "--tenant", first.tenant));
}

function judgeClock({ clock, latestAt }: StoreSeen, { limits, now }: LocalCase): CheckVerdict {
  if (clock !== null) {
    const { what, why, mend } = describeDoubt(clock);
    return fail(`${what}; ${why}`, mend);
  }
  const gapMs = Math.max(0, latestAt - now);
  return judgeGap(gapMs, { skewMs: limits.skewMs, whose: "the latest entry of the store" });
}

function judgeWork({ supervisor, runs }: StoreAtWork, { command }: LocalCase): CheckVerdict {
  const { live, overdue } = runs;
  if (supervisor === null) {
    const why = `no process works on it, with ${liveRuns(live)}, ${overdue} of them overdue`;
    return live === 0 ? ok("no process, and no run is live") : warn(why, command("work"));
  }
  const why = `process ${supervisor}, ${liveRuns(live)}`;
  const mend = `read its output; if it is stuck: kill ${supervisor}, then ${command("work")}`;
  return overdue === 0 ? ok(why) : warn(`${why}, ${overdue} of them overdue: it has too much to do, or is stuck`, mend);
}

function judgeOutput({ supervisor, lostOutput }: StoreAtWork): CheckVerdict {
  if (lostOutput === null) return ok(supervisor === null ? "no process works on it" : "no line of it was lost");
  const { lines, why } = lostOutput;
  const lost = `process ${supervisor} could not write ${lines} ${lines === 1 ? "line" : "lines"} since its start: ${why}`;
  return warn(`${lost}; its work goes on`, "free some space (df -h), or start what reads its output again");
}

const liveRuns = (live: number): string => `${live} live ${live === 1 ? "run" : "runs"}`;
