/** Decisions: one that comes to nothing is told and recorded, and arguments that do not fit are asked about again. */
import { type Mutant, off } from "./mutant.ts";

const FATE = "src/operations/decision-fate.ts";
const INTEND = "src/engine/tools/prepare-calls.ts";
const IGNORED_TEST = "test/engine/loop/ignored.test.ts";
const EDITS_TEST = "test/engine/loop/edits.test.ts";

/** One rule that is no race, killed by a test of that file. */
const without = (rule: string, by: string, change: Mutant["changes"][number]): Mutant => ({
  ...{ name: `decisions: ${rule}`, changes: [change], killedBy: { kind: "tests", file: by } },
});

export const DECIDING: readonly Mutant[] = [
  off(84, "a decision goes with its gate and nothing says so", {
    file: "src/engine/tools/compensation.ts",
    from: "  ignoreUnapplied(run);\n",
    to: "",
  }),
  off(84, "whatever was delivered is accepted", {
    file: FATE,
    from: "const told = await aboutClosed(world, of);",
    to: 'const told = { kind: "accepted", stage: "waits" };',
  }),
  without("one that comes to a closed gate leaves no trace", IGNORED_TEST, {
    file: "src/engine/context/inbox.ts",
    from: "    noteIgnored(run, body);\n",
    to: "",
  }),
  without("an end forgets what was decided and not applied", IGNORED_TEST, {
    file: "src/engine/loop/terminal-commit.ts",
    from: "  ignoreUnapplied(run);\n",
    to: "",
  }),
  without("a run that is being cancelled takes decisions", IGNORED_TEST, {
    file: "src/core/calls/ignored-decisions.ts",
    from: 'if (of.cancel || ending?.kind === "cancelled")',
    to: 'if (ending?.kind === "cancelled")',
  }),
  without("a sender that waits is told at once", IGNORED_TEST, {
    file: FATE,
    from: "if (!isOpen || leftMs <= 0) return told;",
    to: "if (leftMs > -1) return told;",
  }),
  without("a sender waits for a run that is paused", IGNORED_TEST, {
    file: FATE,
    from: "(of.row.pause ? 0 : of.waitMs)",
    to: "of.waitMs",
  }),
  without("an effect that is not known counts", IGNORED_TEST, {
    file: FATE,
    from: 'stage: "unknown" }',
    to: 'stage: "applied" }',
  }),
  without("arguments are sent unchecked where the agent is at hand", EDITS_TEST, {
    file: "src/engine/tools/gate.ts",
    from: "return tool === null ? null : misfit(tool, args);",
    to: "return null;",
  }),
  without("a call is given up for arguments that do not fit", EDITS_TEST, {
    file: INTEND,
    from: "if (wrong !== null && open.edited !== null) return askAgain",
    to: "if (wrong !== null && open.tries < 0) return askAgain",
  }),
  without("a call is asked about again at the same gate", EDITS_TEST, {
    file: "src/protocol/ids.ts",
    from: "const asked = again === undefined ? [] : [String(again)];",
    to: 'const asked = again === undefined ? [] : ["again"];',
  }),
  without("arguments that did not fit stay with the call", EDITS_TEST, {
    file: "src/core/transition.ts",
    from: "...(isEdited ? { edited: null, askedAgain: again } : {})",
    to: "...(isEdited ? { askedAgain: again } : {})",
  }),
  without("the author of arguments that did not fit is told that they count", EDITS_TEST, {
    file: FATE,
    from: "return askedAgain(state, gate) ?? {",
    to: "return {",
  }),
];
