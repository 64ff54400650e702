/**
 * `npm run bench -- --stores [--sizes 1000,10000,100000] [--write]`: what operations cost in stores of that many runs, of which
 * every fiftieth waits. It measures them in this process, each in a new connection, so the start of a command is not in it.
 * `--write` puts the table into `docs/benchmarks.md`.
 */
import { withKernel } from "../src/features/compose.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { inspectStore } from "../src/adapters/local/inspection.ts";
import { type Store, openStore } from "../src/adapters/local/store/database.ts";
import { removalsOf } from "../src/adapters/local/store/removals.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { resolveRun } from "../src/cli/commands/runs.ts";
import { cleanUp } from "../src/history/clean-up.ts";
import { listGates } from "../src/operations/approvals.ts";
import { ANY_RUN, listRuns } from "../src/operations/list.ts";
import type { World } from "../src/ports/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { withPart } from "../scripts/marks.ts";
import { makeLargeStore } from "./large-store.ts";
import { median } from "./statistics.ts";

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    stores: { type: "boolean" },
    write: { type: "boolean" },
    sizes: { type: "string", default: "1000,10000,100000" },
  },
});

const WAITING = 0.02;
const REMOVED = 200;
/** As in one task of a supervisor. */
const AT_ONCE = 50;
const ROUNDS = 3;
const ALL = {
  ...ANY_RUN,
  ...{ tenant: "default", limit: 20, after: null },
} as const;

/** With 100,000 runs, before each operation had its index or its check beside the work, as measured then. */
const BEFORE: Readonly<Record<string, string>> = {
  "a supervisor opens the store": "11.3 s",
  "`list --agent`, an agent with few runs": "12 s",
  "`list --agent`, an agent with most runs": "12 s",
  "`show PREFIX`, until the run is found": "12 s",
  "`approvals`": "2.1 s",
  "`doctor`, its look at the store": "19 s",
  [`clean-up of ${REMOVED} runs`]: "63 s",
};

interface On {
  readonly store: Store;
  readonly world: World;
  readonly runs: { readonly waits: string; readonly ended: string };
}

const OPERATIONS: Readonly<Record<string, (on: On) => Promise<unknown>>> = {
  "`list --agent`, an agent with few runs": ({ world }) => listRuns(world, { ...ALL, agent: "rare" }),
  "`list --agent`, an agent with most runs": ({ world }) => listRuns(world, { ...ALL, agent: "teller" }),
  "`show PREFIX`, until the run is found": ({ world, runs }) =>
    resolveRun(world, { text: runs.waits.slice(0, -14), command: (...words) => words.join(" ") }),
  "`approvals`": async ({ world }) => {
    let after: string | null = null;
    do ({ next: after } = await listGates(world, { tenant: "default", after, bytesMax: null }));
    while (after !== null);
  },
  "`doctor`, its look at the store": async ({ store }) => inspectStore(store, { overdueBefore: 0 }),
  "`doctor --whole-store`, the same": async ({ store }) => inspectStore(store, { overdueBefore: 0, whole: true }),
  [`clean-up of ${REMOVED} runs`]: async ({ store, world }) => {
    const removals = removalsOf(store);
    for (let left = REMOVED; left > 0;) {
      const due = removals.due(Date.now(), Math.min(left, AT_ONCE));
      for (const each of due) await cleanUp(world, each);
      removals.finish(due);
      left -= due.length;
    }
  },
};

async function timed(act: () => unknown): Promise<number> {
  const begun = performance.now();
  await act();
  return performance.now() - begun;
}

/** The milliseconds of each operation in a new store of that size, and of the opening by a supervisor. */
async function measure(size: number): Promise<ReadonlyMap<string, number>> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-stores-"));
  try {
    process.stderr.write(`making a store of ${size} runs\n`);
    const waiting = Math.round(size * WAITING);
    const removed = ROUNDS * REMOVED + size / 10;
    const runs = await makeLargeStore(dir, { ended: size - waiting + removed, waiting, removed });
    const found = new Map<string, number>();
    const opening: number[] = [];
    for (const [name, operation] of Object.entries(OPERATIONS)) {
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        let store: Store | null = null;
        opening.push(await timed(() => (store = openStore({ dir, create: false, check: "supervisor" }))));
        const opened = store as unknown as Store;
        const world = withKernel(
          localWorld({ store: opened, limits: limitsFor(60_000), telemetry: { record: () => undefined } }),
        );
        times.push(await timed(() => operation({ store: opened, world, runs })));
        opened.close();
      }
      found.set(name, median(times));
    }
    return new Map([["a supervisor opens the store", median(opening)], ...found]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const sizes = values.sizes.split(",").map(Number);
const measured: ReadonlyMap<string, number>[] = [];
for (const size of sizes) measured.push(await measure(size));
const shown = (ms: number | undefined): string => (ms === undefined ? "" : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`);
const date = new Date().toISOString().slice(0, 10);
const part = [
  `| runs in the store | ${sizes.map((size) => size.toLocaleString("en-US")).join(" | ")} | 100,000, before |`,
  `|---|${sizes.map(() => "---").join("|")}|---|`,
  ...[...(measured[0]?.keys() ?? [])].map(
    (name) => `| ${name} | ${measured.map((each) => shown(each.get(name))).join(" | ")} | ${BEFORE[name] ?? ""} |`,
  ),
  "",
  `(Median of ${ROUNDS} rounds; ${cpus().length} cores of ${cpus()[0]?.model}, Node ${process.version.slice(1)}, ${date}.)`,
].join("\n");
console.log(part);
if (values.write === true) {
  const page = join(import.meta.dirname, "..", "docs/benchmarks.md");
  writeFileSync(page, withPart(readFileSync(page, "utf8"), { name: "stores", part }));
}
