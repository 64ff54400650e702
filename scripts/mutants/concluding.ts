/** Rules about what may be concluded, and when: quiet, messages, answers. Each is switched off once. */
import { type Mutant, off } from "./mutant.ts";

const OUTSTANDING = "src/core/outstanding.ts";
const ROW = "src/protocol/row.ts";
const INBOX = "src/engine/context/inbox.ts";
const GATE = "src/engine/tools/gate.ts";
const RECONCILE = "src/operations/reconcile.ts";
const BEAT = "src/engine/loop/beat.ts";

export const CONCLUDING: readonly Mutant[] = [
  off(3, "a probe without quiet", { file: OUTSTANDING, from: "!quiet && view.now >= (call.probeAt ?? 0)", to: "true" }),
  off(4, "a takeover that keeps no quiet", {
    file: "src/protocol/row-claim.ts",
    from: "overtaken ? Math.max(row.quietUntil, row.leaseUntil ?? 0)",
    to: "false ? 0",
  }),
  off(5, "an end without quiet", {
    file: OUTSTANDING,
    from: 'undo === null) return [untilQuiet({ kind: "end" })]',
    to: 'undo === null) return [{ kind: "end" }]',
  }),
  off(10, "a duplicate that does not wake", { file: INBOX, from: ' || outcome.kind === "duplicate"', to: "" }),
  off(11, "stirs seen by the number of messages", {
    file: INBOX,
    from: "run.noticed.noteInboxRead(stirs);",
    to: "run.noticed.noteInboxRead(run.noticed.wakeCountRead + found.length);",
  }),
  off(12, "an end whether stirred or not", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "unlessStirred: true",
    to: "unlessStirred: false",
  }),
  off(13, "a denial by expiry whether stirred or not", {
    file: GATE,
    from: "unlessStirred: true",
    to: "unlessStirred: false",
  }),
  off(14, "nothing clears a pause", {
    file: ROW,
    from: 'want === "cancel" ? row.pause : want === "pause"',
    to: 'row.pause || want === "pause"',
  }),
  off(
    18,
    "answers that name no question, of which more than one counts",
    { file: "src/core/calls/open-calls.ts", from: " && each.asked === body.asked", to: "" },
    { file: RECONCILE, from: "id: reconcileId(call, asked)", to: "id: `${reconcileId(call, asked)}#${of.by}`" },
  ),
  off(22, "no settle time", { file: "src/engine/tools/unknown-outcome.ts", from: "tool?.settleMs ??", to: "0 *" }),
  off(27, "what was absorbed is forgotten", {
    file: "src/adapters/memory/tables.ts",
    from: "found.message = null;",
    to: "messages.delete(idOf(of, id));",
  }),
  off(28, "a process that outlives its call", { file: BEAT, from: 'run.noticed.outlived === "no" ?', to: "true ?" }),
  off(29, "a decision about anything is taken in", {
    file: "src/engine/tools/gate.ts",
    from: "gates.find((each) => each.gate === of.gate)",
    to: "(gates.find((each) => each.gate === of.gate) ?? { decision: null })",
  }),
  off(
    29,
    "an answer to nothing is taken in",
    { file: RECONCILE, from: "if (open === undefined", to: 'if (open === undefined && of.call === ""' },
    { file: RECONCILE, from: "if (open.answer !== null) return", to: "if (open?.answer) return" },
    { file: RECONCILE, from: "open.askFrom ?? 0", to: "open?.askFrom ?? 0" },
    {
      file: RECONCILE,
      from: "const { call, asked } = open;",
      to: "const { call, asked } = { call: of.call, asked: 1, ...open };",
    },
  ),
  off(30, "the inbox is not read first", { file: BEAT, from: "await openInbox(run);", to: "" }),
  off(33, "a hand-over that keeps no quiet", {
    file: "src/protocol/row-hand-over.ts",
    from: "Math.max(row.quietUntil, lease ?? 0)",
    to: "row.quietUntil",
  }),
  off(34, "a call that outlives its timeout keeps no quiet", {
    file: "src/engine/context/commit-request.ts",
    from: 'raiseQuiet: noticed.outlived === "tool"',
    to: "raiseQuiet: false",
  }),
  off(35, "any answer at any time", {
    file: RECONCILE,
    from: "world.clock.now() < askFrom",
    to: "world.clock.now() < 0",
  }),
  off(42, "an answer that quiet holds back is left unread", {
    file: INBOX,
    from: "if (run.state.absorbed.includes(message)) continue;",
    to: 'if (run.state.absorbed.includes(message) || (body.kind === "reconcile" && run.now < run.row.quietUntil)) continue;',
  }),
  off(43, "an id is dropped before its item is deleted", {
    file: INBOX,
    from: "await run.world.table.clearInbox(",
    to: "void run.world.table.clearInbox(",
  }),
  off(108, "an end that took in messages is told by its own commit", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "isAwaited || hasItems ?",
    to: "isAwaited ?",
  }),
  off(108, "the process that tells an end leaves the items", {
    file: "src/engine/loop/terminal-commit.ts",
    from: "if (state.absorbed.length > 0) {",
    to: "if (state.absorbed.length < 0) {",
  }),
  off(48, "settle time without the margin of clocks", {
    file: "src/engine/tools/unknown-outcome.ts",
    from: "Math.max(quiet, run.now + skewMs)",
    to: "Math.max(quiet, run.now)",
  }),
  off(49, "a decision that comes too late is acknowledged", {
    file: "src/operations/decision-fate.ts",
    from: "if (isOther) return",
    to: "if (isOther && decision.by === null) return",
  }),
];
