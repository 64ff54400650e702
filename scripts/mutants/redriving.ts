/** Rules about runs that failed and go on, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const ROW = "src/protocol/row-redrive.ts";
const CORE = "src/core/policy/redrive.ts";
const RUNNER = "src/operations/redrive.ts";

/** Killed by a test of that file. */
const by = (file: string, name: string, change: Mutant["changes"][number]): Mutant => ({
  name: `redrive: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts` },
});

export const REDRIVING: readonly Mutant[] = [
  off(87, "any failed or redriven run is redriven", {
    file: ROW,
    from: 'row.status !== "failed" || row.epoch !== epoch || row.version !== version',
    to: 'row.status === "completed"',
  }),
  off(88, "who wanted it is forgotten where nobody starts the run", {
    file: ROW,
    from: "redrive: note,",
    to: 'redrive: { ...note, by: "somebody" },',
  }),
  off(88, "the redriven run is not alive for the sweeper", {
    file: ROW,
    from: "chain: row.chain + 1",
    to: "chain: row.chain",
  }),
  off(89, "a late teller tells any end", {
    file: "src/protocol/row-tell.ts",
    from: "!row.told && row.epoch === epoch",
    to: "!row.told && epoch >= 0",
  }),
  off(89, "a telling does not say of which end", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "tell({ run, born, epoch: row.epoch, now, expiresAtSec })",
    to: "tell({ run, born, now, expiresAtSec })",
  }),
  off(90, "a redriven run keeps its time to live", {
    file: ROW,
    from: "      expiresAtSec: null,\n",
    to: "",
  }),
  by("operations/redrive", "a call that may have begun is asked about", {
    file: CORE,
    from: 'const mayHaveBegun = from.started.includes(call.call) && call.status === "unknown";',
    to: "const mayHaveBegun = from.started.length < 0;",
  }),
  by("operations/redrive", "a run whose effects were undone goes on", {
    file: CORE,
    from: 'if (saga !== undefined) return "Compensated";',
    to: "",
  }),
  by("operations/redrive", "a run that failed by itself goes on", {
    file: CORE,
    from: 'if (failure === null || !isOfInfrastructure(failure)) return "NotInfrastructure";',
    to: "",
  }),
  by("operations/redrive", "the outage that ended a run goes on", {
    file: CORE,
    from: "const { failedFrom: from, outage: _, ...rest } = state;",
    to: "const { failedFrom: from, ...rest } = state;",
  }),
  by("operations/redrive", "a redriven row forgets until when others may act", {
    file: ROW,
    from: "owner: null,",
    to: "quietUntil: 0, owner: null,",
  }),
  by("engine/loop/redrive", "the deaths of its last life count", {
    file: ROW,
    from: "      deaths: 0,\n",
    to: "",
  }),
  by("engine/loop/redrive", "a person is asked about a call that the next invocation takes up again", {
    file: "src/operations/reconcile.ts",
    from: "const state = await loadAboutToBe(world, row);",
    to: "const state = await loadAboutToBe(world, { ...row, redrive: undefined } as never);",
  }),
  by("engine/loop/redrive", "an answer is taken of a run that has ended", {
    file: "src/operations/reconcile.ts",
    from: 'if (hasEnded(row)) return { kind: "late" };',
    to: "",
  }),
  by("engine/loop/redrive", "its second archive takes the place of the first", {
    file: "src/history/archive.ts",
    from: "1 + (redriven?.times ?? 0)",
    to: "1 + (redriven?.times ?? 0) * 0",
  }),
  by("engine/loop/redrive", "a child of another run goes on behind its back", {
    file: RUNNER,
    from: 'if (row.parent !== null) return { kind: "HasParent", row };',
    to: "",
  }),
  by("engine/loop/redrive", "the sweeper ends a redriven run in the state that it failed in", {
    file: "src/maintenance/sweep.ts",
    from: "  recordRedrive(run);\n",
    to: "",
  }),
  by("operations/redrive-faults", "a sender that comes again starts nothing", {
    file: RUNNER,
    from: "if (row.redrive !== undefined) await startExecution",
    to: "if (row.redrive === undefined) await startExecution",
  }),
  by("operations/redrive-faults", "an answer that was lost is another one's redrive", {
    file: RUNNER,
    from: "return state.redriven?.id === id;",
    to: 'return id === "";',
  }),
  by("engine/loop/redrive", "a decision that was said to come to nothing counts", {
    file: CORE,
    from: "(gate.decision !== null || gate.expiresAt <= at)",
    to: "gate.expiresAt <= at",
  }),
  by("operations/redrive", "what nobody could decide in time is denied", {
    file: CORE,
    from: "(gate.decision !== null || gate.expiresAt <= at)",
    to: "gate.decision !== null",
  }),
];
