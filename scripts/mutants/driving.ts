/** Rules about who drives a run and whose write counts, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const ROW = "src/protocol/row.ts";
const COMMIT = "src/engine/context/commit.ts";
const BEAT = "src/engine/loop/beat.ts";
const SWEEP = "src/maintenance/sweep.ts";
const EXECUTION = "src/protocol/execution.ts";
const CLAIM = "src/protocol/row-claim.ts";
const HAND_OVER = "src/protocol/row-hand-over.ts";
const ENDING = "src/engine/loop/terminal-commit.ts";

export const DRIVING: readonly Mutant[] = [
  off(1, "a claim by any epoch of the chain", { file: CLAIM, from: " && (next || retried)", to: "" }),
  off(2, "an entry without the name of its execution", {
    file: "src/protocol/entry.ts",
    from: "one.execution === other.execution && ",
    to: "",
  }),
  off(6, "an error taken for fenced", {
    file: COMMIT,
    from: "() => world.table.commit(request),",
    to: 'async () => {\n        const told = await world.table.commit(request);\n        return told.kind === "ambiguous" ? { kind: "fenced", row: run.row } : told;\n      },',
  }),
  off(7, "one's own name not looked for in a refusal", {
    file: "src/history/resolve-ambiguous-write.ts",
    from: "copy > 0 ?",
    to: "copy > 99 ?",
  }),
  off(8, "another write for the same version", {
    file: COMMIT,
    from: "world.table.commit(request)",
    to: "world.table.commit({ ...request, commitId: world.random.hex() })",
  }),
  off(9, "a superseded retry that starts nobody", {
    file: BEAT,
    from: "row.chain === payload.chain + 1 ?",
    to: "false ?",
  }),
  off(15, "a park by any attempt", {
    file: "src/protocol/row-park.ts",
    from: "row.park.entry.retry < park.entry.retry",
    to: "true",
  }),
  off(16, "any token taken for one's own", {
    file: "src/engine/loop/park.ts",
    from: "row.park?.token === token ?",
    to: "row.park !== null ?",
  }),
  off(17, "a snapshot key without its put", {
    file: "src/engine/context/committed-run.ts",
    from: "put: this.#puts",
    to: "put: 1",
  }),
  off(19, "an operation on any incarnation", { file: ROW, from: "row.born !== of.born || ", to: "" }),
  off(19, "one prefix for all incarnations", {
    file: "src/history/object-keys.ts",
    from: "/${run}/${born}`",
    to: "/${run}`",
  }),
  off(20, "what was stirred and not woken sleeps", {
    file: SWEEP,
    from: "if (!isStirred && !isOver) return true;",
    to: "if (!isOver) return true;",
  }),
  off(20, "a dead token taken for a live one", {
    file: SWEEP,
    from: '=== "woken") return true;',
    to: '!== "") return true;',
  }),
  off(20, "a queued run is not started", {
    file: SWEEP,
    from: 'if (row.status === "queued") await startExecution(world, row);',
    to: "",
  }),
  off(20, "a run that nobody drives is not started", {
    file: SWEEP,
    from: "const execution = await startExecution(world, row);",
    to: 'const execution: string = "going";',
  }),
  off(20, "a spent name is not followed by the next", {
    file: "src/engine/loop/executions.ts",
    from: 'if (started.kind === "exists") await moveOn(world, { run, born, chain });',
    to: "",
  }),
  off(20, "an end that nobody heard of is not told", {
    file: SWEEP,
    from: "if (hasEnded(row)) return tellEnd(world, row);",
    to: "if (hasEnded(row)) return;",
  }),
  off(21, "a key without its attempt", {
    file: "src/protocol/ids.ts",
    from: "of.born, String(of.attempt), of.call",
    to: "of.born, of.call",
  }),
  off(23, "clocks instead of the epoch", { file: ROW, from: "row.epoch !== commit.epoch || ", to: "" }),
  off(24, "a beat that is entered anew", {
    file: EXECUTION,
    from: 'state: "Backoff", stage: "waiting"',
    to: 'stage: "due"',
  }),
  off(25, "a death without a claim counts", {
    file: CLAIM,
    from: "row.owner !== null && dead !== null && sameGroup(row.entry, dead)",
    to: "dead !== null",
  }),
  off(25, "a hand-over that moves the deadline", {
    file: HAND_OVER,
    from: "owner: null,",
    to: "owner: null,\n      deadline: row.deadline + 1,",
  }),
  off(26, "a claim over the budget goes on", {
    file: BEAT,
    from: "deaths > run.state.takeoversMax &&",
    to: "deaths > 99 &&",
  }),
  off(
    31,
    "a row of any version",
    { file: ROW, from: "if (row.format > FORMAT)", to: "if (row.format > FORMAT + 9)" },
    { file: ROW, from: "row.format === FORMAT ? row :", to: "true ? row :" },
  ),
  off(31, "a beat that dies of what it cannot read", {
    file: BEAT,
    from: "error instanceof Unreadable",
    to: "error instanceof RangeError",
  }),
  off(32, "an expired row is overwritten", {
    file: "src/protocol/row-removal.ts",
    from: "over: found",
    to: "over: null",
  }),
  off(36, "quiet is not judged on the row of the hand-over", {
    file: SWEEP,
    from: "if (world.clock.now() < row.quietUntil) return false;",
    to: "",
  }),
  off(37, "a refused claim is not looked at", { file: BEAT, from: "row.owner === owner ?", to: 'row.owner === "" ?' }),
  off(38, "an execution that ends with its park or rescue", {
    file: EXECUTION,
    from: "if (delayMs === undefined || ",
    to: "if (delayMs === undefined) return ended(execution);\n  if (",
  }),
  off(39, "a lost hand-over starts nobody", {
    file: SWEEP,
    from: "row.chain > chain",
    to: 'outcome.kind === "handed"',
  }),
  off(40, "an ended run is handed over", { file: HAND_OVER, from: "hasEnded(row) || ", to: "" }),
  off(41, "an end that somebody waits for expires untold", {
    file: ENDING,
    from: "run.row.parent !== null ||",
    to: "",
  }),
  off(44, "children are not asked to stop", {
    file: ENDING,
    from: 'state.phase === "Completed" ? [] : state.children',
    to: "[]",
  }),
  off(44, "an orphan starts", {
    file: "src/engine/loop/step.ts",
    from: 'command.kind === "prepare" && (await isOrphan(run))',
    to: "false",
  }),
  off(45, "tries without a bound", { file: "src/core/limits.ts", from: "callTriesMax: 3", to: "callTriesMax: 99" }),
  off(45, "an exit counts as a death", {
    file: BEAT,
    from: "run.commit({ release: true,",
    to: 'run.commit({ release: run.noticed.outlived === "no",',
  }),
  off(46, "as many sweepers at once as there are", {
    file: "src/protocol/mutex-lease.ts",
    from: " && turn.now < before.until",
    to: " && turn.now < 0",
  }),
  off(47, "one's own commit under another epoch goes on", {
    file: COMMIT,
    from: " && found.epoch === epochAfter",
    to: "",
  }),
  off(50, "told before it is archived", {
    file: ENDING,
    from: "await putArchive(world, { row, state });",
    to: "void putArchive(world, { row, state }).catch(() => undefined);",
  }),
  off(50, "an end with an archive is told by its own commit", {
    file: ENDING,
    from: " || archiveOf(run.row, run.state) !== null",
    to: "",
  }),
  off(51, "an archive is removed at any time", {
    file: "src/operations/purge.ts",
    from: "if (clock.earliest() < from) return from;",
    to: "",
  }),
];
