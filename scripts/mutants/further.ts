/** Rules beside the schedules: sealing, removal, and two that are broken under real processes as well. */
import type { Mutant } from "./mutant.ts";

const COMMIT = "src/engine/context/commit.ts";
const CLEAN_UP = "src/history/clean-up.ts";
const ORPHANS = "src/maintenance/orphans.ts";

const unit = (name: string) => ({ kind: "tests", file: `test/${name}.test.ts` }) as const;
const real = (name: string) => ({ kind: "tests", file: `test/${name}.test.ts` }) as const;

export const FURTHER: readonly Mutant[] = [
  {
    name: "sealed events named before they are stored",
    changes: [
      {
        file: "src/history/checkpoint.ts",
        from: "await certainlyPut(() => objects.put(object.key, object.bytes));",
        to: "void certainlyPut(() => objects.put(object.key, object.bytes));",
      },
    ],
    killedBy: unit("history/seal"),
  },
  {
    name: "a rollout goes on under an alarm",
    changes: [
      { file: "src/cli/commands/rollout.ts", from: "if (alarms.length > 0) throw", to: "if (alarms.length > 9) throw" },
    ],
    killedBy: unit("cli/rollout"),
  },
  {
    name: "the sweeper hands over a run that was claimed since it was read",
    changes: [
      {
        file: "src/maintenance/sweep.ts",
        from: "moveOn(world, { run, born, chain, epoch });",
        to: "moveOn(world, epoch < 0 ? row : { run, born, chain });",
      },
    ],
    killedBy: { kind: "tests", file: "test/simulation/simulation.test.ts", test: "s9788" },
  },
  {
    name: "no run is resumable",
    changes: [
      { file: "src/operations/views.ts", from: "resumable: inProgress && !held", to: "resumable: held && !held" },
    ],
    killedBy: { kind: "tests", file: "test/api/runs.test.ts" },
  },
  {
    name: "the audit says that nothing is undone",
    changes: [
      { file: "src/doctor/audit.ts", from: 'hasUndo(tool) ? "; undone', to: 'hasUndo(tool) && false ? "; undone' },
    ],
    killedBy: unit("doctor/audit"),
  },
  {
    name: "an effect class that there is not is taken",
    changes: [{ file: "src/sdk/define.ts", from: "refuse(wrongEffect !== null,", to: 'refuse(wrongEffect === "",' }],
    killedBy: unit("sdk/agent-define"),
  },
  {
    name: "tools replace functions of the language",
    changes: [
      { file: "src/cli/workers/start-worker.ts", from: "protectIntrinsics();\n", to: "void protectIntrinsics;\n" },
    ],
    killedBy: real("process/hostile"),
  },
  {
    name: "a process runs tools of several agents",
    changes: [
      { file: "src/adapters/local/workers.ts", from: "each.agent === agent)", to: "each.agent !== undefined)" },
    ],
    killedBy: real("process/hostile"),
  },
  {
    name: "a refused snapshot moves the seal",
    changes: [
      {
        file: COMMIT,
        from: "committed.refused(outcome.row);",
        to: "committed.applied(outcome.row, { state: committed.state, commits: committed.journalWith([]), stored });",
      },
    ],
    killedBy: unit("history/seal"),
  },
  {
    name: "clean-up of a run instead of its incarnation",
    changes: [
      {
        file: CLEAN_UP,
        from: "removeUnder(prefixUnder({ run, born }))",
        to: 'removeUnder(prefixUnder({ run, born }).replace(`/${born}/`, "/"))',
      },
    ],
    killedBy: unit("history/clean-up"),
  },
  {
    name: "clean-up without a look at the row",
    changes: [{ file: CLEAN_UP, from: "if (await isStored(world, { run, born })) {", to: "if (born === run) {" }],
    killedBy: unit("history/clean-up"),
  },
  {
    name: "untold run purged",
    changes: [{ file: "src/protocol/row-removal.ts", from: "hasEnded(row) && row.told", to: "hasEnded(row)" }],
    killedBy: unit("history/clean-up"),
  },
  {
    name: "orphan removed before its row can come",
    changes: [
      {
        file: ORPHANS,
        from: "found.putAt < world.clock.earliest() - TIMES.orphanAgeMs",
        to: "found.putAt < world.clock.earliest()",
      },
    ],
    killedBy: unit("maintenance/orphans"),
  },
  {
    name: "orphans of another store removed",
    changes: [{ file: ORPHANS, from: "if (!(await belongTogether(world))) return null;", to: "" }],
    killedBy: unit("maintenance/orphans"),
  },
  {
    name: "told before archived",
    changes: [
      {
        file: "src/engine/loop/terminal-commit.ts",
        from: "await putArchive(world, { row, state });",
        to: "void putArchive(world, { row, state }).catch(() => undefined);",
      },
    ],
    killedBy: { kind: "tests", file: "test/slow/crash/crash.test.ts", test: "no single fault" },
  },
  {
    name: "archive with its history backwards",
    changes: [
      {
        file: "src/history/packed-history.ts",
        from: "return inOrder(this.#members)",
        to: "return this.#members.flat()",
      },
    ],
    killedBy: { kind: "tests", file: "test/slow/crash/crash.test.ts", test: "the scene meets" },
  },
  {
    name: "no epoch condition, frozen process",
    changes: [{ file: "src/protocol/row.ts", from: "row.epoch !== commit.epoch || ", to: "" }],
    killedBy: real("slow/process/freeze"),
  },
  {
    name: "outlived call keeps its process, warm process",
    changes: [{ file: "src/engine/loop/beat.ts", from: 'run.noticed.outlived === "no" ?', to: "true ?" }],
    killedBy: real("slow/process/late-effect"),
  },
];
