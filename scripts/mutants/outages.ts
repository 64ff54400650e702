/** A store that does not answer: what a release keeps, who counts as dead, and what a model call has cost. */
import { type Mutant, off } from "./mutant.ts";

const LET_GO = "src/engine/loop/release.ts";
const CLAIM = "src/protocol/row-claim.ts";
const ROW = "src/protocol/row.ts";
const SWEEP = "src/maintenance/sweep.ts";
const DEBITS = "src/engine/context/debits.ts";
const PENDING = "src/engine/context/pending-work.ts";
const SIMULATION = { kind: "simulation", seeds: 400 } as const;

export const OUTAGES: readonly Mutant[] = [
  off(91, "a release, or any commit, for whatever version the row has", {
    file: ROW,
    from: "row.epoch !== commit.epoch || row.version !== commit.version",
    to: "row.epoch !== commit.epoch",
  }),
  off(92, "a commit that landed is not looked for", {
    file: LET_GO,
    from: "run.noticed.hasSent(found.commitId)",
    to: 'run.sent.has("")',
  }),
  off(93, "what was decided on a condition is given back with it", {
    file: LET_GO,
    from: "if (run.pending.isConditional) run.rewind",
    to: "if (run.isConditional && run.leftMs < -1e9) run.rewind",
  }),
  off(93, "only the commit of an end is on a condition, not what comes before it", {
    file: "src/engine/context/pending-work.ts",
    from: "this.#isConditional = true;",
    to: "this.#isConditional = false;",
  }),
  off(65, "last words whose end was dropped are asked for again", {
    file: DEBITS,
    from: '=== "ForceStop";',
    to: '=== "Preparing";',
  }),
  off(94, "a run that backs off hears no message before its pause is over", {
    file: SWEEP,
    from: "(isNew || row.stirs !== row.stirsSeen)",
    to: "isNew",
  }),
  off(94, "a run that backs off is not tried at once by another deployment", {
    file: SWEEP,
    from: "(isNew || row.stirs !== row.stirsSeen)",
    to: "row.stirs !== row.stirsSeen",
  }),
  off(95, "each owner that is found counts as dead", {
    file: CLAIM,
    from: "row.owner !== null && dead !== null && sameGroup(row.entry, dead)",
    to: "row.owner !== null",
  }),
  off(96, "the death of any attempt of the entry is that of the owner", {
    file: CLAIM,
    from: "sameGroup(row.entry, dead)",
    to: "sameEntry(row.entry, dead)",
  }),
  off(
    97,
    "a model is called without a mark",
    {
      file: "src/engine/model/call-model.ts",
      from: 'if (run.pending.modelCalls.own === "marked") return false;',
      to: "if (run.now > 0) return false;",
    },
    { file: PENDING, from: 'ensure(this.#modelCalls.own === "marked",', to: "ensure(this.#time.since > 0," },
  ),
  off(98, "an invocation that could not load its run has called its model", {
    file: LET_GO,
    from: "asks: row.asks - row.will",
    to: "asks: row.asks",
  }),
  off(99, "what was released and never begun may have happened", {
    file: LET_GO,
    from: "    permitAgain(run);\n",
    to: "",
  }),
  off(100, "deaths add up over all beats", {
    file: ROW,
    from: "deaths: commit.isProgress ? 0 : row.deaths",
    to: "deaths: row.deaths",
  }),
  {
    name: "a claim is no mark",
    changes: [{ file: CLAIM, from: "asks: row.asks + row.will", to: "asks: row.asks" }],
    killedBy: SIMULATION,
  },
  {
    name: "an end forgets the calls of the dead",
    changes: [
      {
        file: DEBITS,
        from: "if (others === 0) return 0;",
        to: "if (others === 0 || run.state.ending !== null) return 0;",
      },
    ],
    killedBy: SIMULATION,
  },
  {
    name: "a run is given back under whatever epoch it has",
    changes: [
      { file: LET_GO, from: "found?.epoch === row.epoch && found.version", to: "found !== null && found.version" },
    ],
    killedBy: { kind: "tests", file: "test/engine/loop/let-go.test.ts" },
  },
  {
    name: "a mark is taken back although the call left",
    changes: [{ file: PENDING, from: 'own: "left" };', to: 'own: "marked" };' }],
    killedBy: { kind: "tests", file: "test/engine/loop/let-go.test.ts" },
  },
  {
    name: "what was dropped of the inbox counts as read",
    changes: [
      {
        file: "src/engine/context/active-run.ts",
        from: "    this.noticed.noteInboxRead(this.row.stirsSeen);\n",
        to: "",
      },
    ],
    killedBy: { kind: "tests", file: "test/engine/loop/let-go.test.ts" },
  },
  {
    name: "a store that has been away for hours is tried every two seconds",
    changes: [{ file: LET_GO, from: "(now - storeOutage.since) / 2", to: "0" }],
    killedBy: { kind: "tests", file: "test/engine/loop/let-go.test.ts" },
  },
  {
    name: "a new supervisor waits for the rest of a pause",
    changes: [
      {
        file: "src/adapters/local/executions.ts",
        from: "for (const execution of table.backingOff())",
        to: "for (const execution of table.backingOff().slice(0, 0))",
      },
    ],
    killedBy: { kind: "tests", file: "test/adapters/local/executions.test.ts" },
  },
];
