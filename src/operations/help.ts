/**
 * The help text of each operation, and of each command of an operation that has two. The texts have a file of their
 * own, so that `cairn --help` loads no operation.
 */
export const HELP = {
  list: "list runs, newest first",
  show: "show the status of a run, its cost, and what it needs",
  timeline: "show everything that happened in a run: beats, cost, process deaths and takeovers",
  cost: "show what a run spent on each model, and what its recoveries spared",
  ledger: "list every tool call of a run: its key, attempts, outcome and evidence",
  diagnose: "which typical failure a run shows, the evidence, and what to do first",
  verify: "check that all data of a run or an export is unchanged and complete since its start",
  export: "write a run to one file that needs no store, for replay and for the record; a live run as it is now",
  pin: "write an ended run as a regression test of its agent, with its ledger as the expectation",
  send: "send a message to the model of a run",
  agents: "list the agents that may be started, with the tools and the topology of each",
  approvals: "list the calls that wait for a human's approval",
  decide: "approve or deny a call that waits for approval",
  approve: "approve a call, or more budget, that a run waits for; name the gate or its call if there are several",
  deny: "deny a call, and tell the model so, or deny more budget; name the gate or its call if there are several",
  budget: "grant more budget to a run that asks for it",
  reconcile: "reconcile a call with an unknown outcome: say whether it happened",
  assign: "assign a run to an operator; approvals and show name the operator",
  upgrade: "accept the agent version that the run waits for",
  start: "start a run of an agent: a name from cairn.config.ts, or a file such as ./my-agent.ts",
  pause: "pause a run after its current beat",
  resume: "resume a paused run, or make a run that waits for code or its model try again now",
  cancel: "end a run; it starts no new call",
  restart: "the last resort: undo the effects of a run and begin again from its task; shows the cost first",
  redrive: "continue a run that failed for an infrastructure reason from its last checkpoint",
  purge: "remove an ended run with all its data, before its retention expires",
  restored: "after a store was restored from a backup: fence and pause every run that has not ended",
} as const;
