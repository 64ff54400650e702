/** Rules about code that changes under a run, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const DEPLOYED = "src/engine/loop/agent-version.ts";
const ACT = "src/engine/tools/run-tools.ts";

export const DEPLOYING: readonly Mutant[] = [
  off(52, "the tool of an open call is gone and the call is dropped", {
    file: ACT,
    from: "why, askFrom, toolGone: true",
    to: "why, askFrom: null",
  }),
  off(52, "a tool that is back is not looked for", {
    file: "src/core/outstanding.ts",
    from: "!view.looked && owed.some(lacksTool)",
    to: "false",
  }),
  off(53, "a pinned run goes on", { file: DEPLOYED, from: 'policy === "follow" ||', to: "policy !== null ||" }),
  off(54, "an upgrade resumes another version than the one that was accepted", {
    file: DEPLOYED,
    from: "to === state.agentVersion || accepted?.to === to",
    to: "to === state.agentVersion || accepted !== null",
  }),
  off(55, "a call goes on over an answer", { file: DEPLOYED, from: "unlessStirred: true", to: "unlessStirred: false" }),
  off(56, "an answer that nobody applies is accepted", {
    file: "src/operations/reconcile.ts",
    from: "after.version === row.version",
    to: "after.version >= row.version",
  }),
  off(57, "a look moves the deadline", {
    file: "src/engine/loop/beat.ts",
    from: "isIdle || isDoubted ? run.noticed.waitsUntil :",
    to: "isIdle && run.moved ? run.noticed.waitsUntil :",
  }),
  off(58, "the declaration at release counts alone", {
    file: "src/core/calls/ledger.ts",
    from: "intent !== null && isStricter(effect, intent.effect) ?",
    to: "intent !== null && isStricter(intent.effect, intent.effect) ?",
  }),
];
