/**
 * The small benchmark: counts per beat, with bounds. Wall times have no bound, because they are those of the machine.
 * It fails if a change makes a beat write more, call its store more often, or wait for the disk more often.
 *
 * Syncs and the bytes that reach files are counted by strace, in a process of their own. They are differences between a
 * long and a short run, so that opening and closing the store counts for nothing. Without strace they are not counted.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Counted } from "./counting.ts";
import { openRun } from "./drive.ts";
import { canTrace, strace } from "./strace.ts";

const SHORT = 20;
const LONG = 120;

type Counts = Readonly<Record<"calls" | "bytes" | "syncs" | "written", number>>;

/** The most per beat, by beats per invocation: 10 % above what was counted. */
const BOUNDS: Readonly<Record<number, Counts>> = {
  1: { calls: 3.6, bytes: 6_750, syncs: 1.6, written: 20_900 },
  50: { calls: 1.2, bytes: 5_100, syncs: 1.1, written: 13_300 },
};

function inFolder<T>(use: (dir: string) => T): T {
  const dir = mkdtempSync(join(tmpdir(), "cairn-bench-"));
  try {
    return use(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Runs this file in a process of its own. Returns its counts, and those of strace if there is strace. */
function countedIn(beats: number, perInvocation: number): Record<keyof Counts, number> {
  return inFolder((dir) => {
    const log = join(dir, "calls");
    const store = join(dir, "store");
    const words = [process.execPath, import.meta.filename, "--one", store, String(beats), String(perInvocation)];
    const tracer = canTrace ? strace(log, "fsync,fdatasync,write,writev,pwrite64,pwritev,pwritev2") : [];
    const [program = "", ...rest] = [...tracer, ...words];
    const { status, stdout, stderr } = spawnSync(program, rest, { encoding: "utf8" });
    if (status !== 0) throw new Error(`a run failed: ${stderr}`);
    const { objectBytes, rowBytes, gets, puts, rowWrites } = JSON.parse(stdout) as Counted;
    const counts = { calls: gets + puts + rowWrites, bytes: objectBytes + rowBytes, syncs: 0, written: 0 };
    if (!canTrace) return counts;
    // The log of shared memory is no file of the disk.
    const lines = readFileSync(log, "utf8").split("\n");
    for (const line of lines.filter((each) => each.includes(`<${store}`) && !each.includes("-shm>"))) {
      if (/ f(data)?sync\(/.test(line)) counts.syncs += 1;
      else counts.written += Number(/ = (\d+)$/.exec(line)?.[1] ?? 0);
    }
    return counts;
  });
}

function compare(): void {
  const rows: Record<string, string | number>[] = [];
  for (const [key, bound] of Object.entries(BOUNDS)) {
    process.stderr.write(`counting with ${key} beats per invocation\n`);
    const short = countedIn(SHORT, Number(key));
    const long = countedIn(LONG, Number(key));
    for (const name of ["calls", "bytes", "syncs", "written"] as const) {
      const count = (long[name] - short[name]) / (LONG - SHORT);
      const isCounted = canTrace || name === "calls" || name === "bytes";
      const isAbove = isCounted && count > bound[name];
      if (isAbove) process.exitCode = 1;
      const shown = isCounted ? Number(count.toFixed(2)) : "not counted: no strace";
      rows.push({ B: key, "per beat": name, counted: shown, "at most": bound[name], "": isAbove ? "TOO MUCH" : "" });
    }
  }
  console.table(rows);
  console.log("A loop without durability writes nothing, so all of this is the cost of durability.");
}

const [, , mode, dir = "", beats, perInvocation] = process.argv;
if (mode === "--one") {
  const { run, close } = openRun(dir, { beats: Number(beats), perInvocation: Number(perInvocation) });
  const counted = await run();
  close();
  process.stdout.write(JSON.stringify(counted));
} else compare();
