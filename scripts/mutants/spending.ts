/** Rules about what a run may spend, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const BUDGET = "src/engine/context/budget-gate.ts";
const runner = { kind: "tests", file: "test/engine/loop/budget.test.ts" } as const;

export const SPENDING: readonly Mutant[] = [
  off(62, "the time of a process that died is nobody's", {
    file: "src/engine/context/time-at-work.ts",
    from: "if (dead <= 0) return 0;",
    to: "if (dead <= 99) return 0;",
  }),
  off(62, "parked time counts as time at work", {
    file: "src/engine/context/time-at-work.ts",
    from: "Math.max(row.lastCheckpointAt, row.quietUntil - dead * (limits.beatMs + limits.skewMs))",
    to: "row.lastCheckpointAt",
  }),
  off(63, "the end follows the denial in a commit of its own", {
    file: "src/engine/tools/gate.ts",
    from: 'if (call === BUDGET && decision.as === "deny") run.record(endFor(run, gate.reason));',
    to: "",
  }),
  off(64, "a question about a budget has no number", {
    file: BUDGET,
    from: "extensionOf(run.state).asked + 1",
    to: "1",
  }),
  {
    name: "calls beyond their limit are released",
    changes: [
      { file: "src/core/policy/spending.ts", from: "used.toolCalls + calls > limit", to: "used.toolCalls > limit" },
    ],
    killedBy: runner,
  },
  {
    name: "what is given is forgotten",
    changes: [{ file: "src/core/policy/extension.ts", from: 'as === "approve" ?', to: 'as === "edit" ?' }],
    killedBy: runner,
  },
  {
    name: "calls are released while more budget is asked for",
    changes: [{ file: "src/core/outstanding.ts", from: "asksForMore ? [] :", to: "!view ? [] :" }],
    killedBy: runner,
  },
  {
    name: "too little is taken for enough",
    changes: [{ file: BUDGET, from: "over === null ? null : `that", to: "over !== undefined ? null : `that" }],
    killedBy: runner,
  },
  {
    name: "lost replies cost nothing",
    changes: [
      {
        file: "src/engine/context/unaccounted-model-calls.ts",
        from: "microUsdOf(price, tokensIn, tokensOut) * calls",
        to: "0",
      },
    ],
    killedBy: { kind: "tests", file: "test/providers/model.test.ts" },
  },
];
