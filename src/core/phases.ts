/**
 * The phase table: the single source for phases. The transition check, idle detection, statuses, labels, the chain, the
 * diagram in the docs and the test of every (phase, event) pair derive from it. No other file lists phases.
 * `docs/protocol.md` has their table.
 */

/** The status that the CLI, the API and the console show. A run is `queued` until its first claim. */
export type Status = "queued" | "running" | "waiting" | "paused" | "blocked" | "completed" | "failed" | "cancelled";

interface PhaseRow {
  readonly kind: "active" | "parked" | "terminal";
  /** The run only waits for a remote model and has no local work. The watchdog counts only these phases. */
  readonly idle: boolean;
  readonly status: Status;
  /** How a chain ends that reaches this phase; null while the chain goes on. */
  readonly ends: "done" | "failed" | null;
  /** What becomes durable when a run leaves this phase. */
  readonly edge: "plan" | "batch" | "verdict" | "closing" | "decision" | "resolution" | "none";
  /** For humans: what the run does or waits for. */
  readonly label: string;
  /** Phases that an event may lead to. A run may always stay in a phase that is not terminal. */
  readonly next: readonly string[];
}

/** From every phase a run may be paused, wait for its agent, fail or be cancelled. */
const ANYWHERE = ["Paused", "AwaitingAgent", "Failed", "Cancelled"] as const;

/** The phases that a paused or waiting run may return to. */
const BACK = [
  "Preparing",
  "AwaitingLLM",
  "ExecutingTools",
  "AwaitingApproval",
  "RetryingLLM",
  "Compacting",
  "Reflecting",
  "ForceStop",
  "AwaitingReconcile",
  "AwaitingChildren",
] as const;

const active = (row: Pick<PhaseRow, "label" | "next"> & Partial<PhaseRow>): PhaseRow => ({
  kind: "active",
  idle: false,
  status: "running",
  ends: null,
  edge: "none",
  ...row,
});
const parked = (row: Pick<PhaseRow, "status" | "label" | "next"> & Partial<PhaseRow>): PhaseRow =>
  active({ ...row, kind: "parked" });
const terminal = (status: Status, ends: "done" | "failed"): PhaseRow =>
  active({ kind: "terminal", status, ends, label: status, next: [] });

const rows = {
  Preparing: active({ label: "loading the agent", next: ["AwaitingLLM", ...ANYWHERE] }),
  AwaitingLLM: active({
    idle: true,
    edge: "plan",
    label: "waiting for the model",
    next: ["ExecutingTools", "Reflecting", "RetryingLLM", "Compacting", "AwaitingApproval", "ForceStop", ...ANYWHERE],
  }),
  ExecutingTools: active({
    edge: "batch",
    label: "running tools",
    next: ["AwaitingLLM", "AwaitingApproval", "AwaitingReconcile", "AwaitingChildren", ...ANYWHERE],
  }),
  AwaitingApproval: active({
    status: "waiting",
    edge: "decision",
    label: "waiting for a human: to approve a call or more budget, or to answer",
    next: ["ExecutingTools", "AwaitingLLM", "AwaitingReconcile", "AwaitingChildren", ...ANYWHERE],
  }),
  RetryingLLM: active({
    label: "waiting before the model is asked again",
    next: ["AwaitingLLM", "ExecutingTools", "Reflecting", "Compacting", "AwaitingApproval", "ForceStop", ...ANYWHERE],
  }),
  Compacting: active({
    label: "compacting its context",
    next: ["AwaitingLLM", "RetryingLLM", "ExecutingTools", "AwaitingApproval", "ForceStop", ...ANYWHERE],
  }),
  Reflecting: active({
    edge: "verdict",
    label: "checking the definition of done",
    next: ["AwaitingLLM", "ExecutingTools", "Completed", ...ANYWHERE],
  }),
  ForceStop: active({
    idle: true,
    edge: "closing",
    label: "waiting for the closing reply of a run that has to stop",
    next: ["ExecutingTools", ...ANYWHERE],
  }),
  AwaitingReconcile: parked({
    status: "blocked",
    edge: "resolution",
    label: "waiting for an operator: the outcome of a call is unknown",
    next: ["ExecutingTools", "AwaitingApproval", "AwaitingChildren", "AwaitingLLM", ...ANYWHERE],
  }),
  AwaitingChildren: active({
    status: "waiting",
    edge: "batch",
    label: "waiting for the runs that it dispatched",
    next: ["ExecutingTools", "AwaitingApproval", "AwaitingReconcile", "AwaitingLLM", ...ANYWHERE],
  }),
  Paused: parked({
    status: "paused",
    label: "paused until an operator resumes it",
    next: [...BACK, "AwaitingAgent", "Failed", "Cancelled"],
  }),
  AwaitingAgent: parked({
    status: "blocked",
    label:
      "waiting for its agent: it cannot be loaded, its version was not accepted yet, or its model's provider refuses what it asks",
    next: [...BACK, "Paused", "Failed", "Cancelled"],
  }),
  Completed: terminal("completed", "done"),
  Failed: terminal("failed", "failed"),
  Cancelled: terminal("cancelled", "done"),
} as const satisfies Record<string, PhaseRow>;

export type Phase = keyof typeof rows;

/** The phase table. */
export const PHASES: { readonly [P in Phase]: PhaseRow } = rows;

/** All phases, in the order of the table. */
export const PHASE_NAMES = Object.keys(rows) as readonly Phase[];

export const isTerminal = (phase: Phase): boolean => PHASES[phase].kind === "terminal";

/** The run waits aside (`Paused`, `AwaitingAgent`) and returns to its earlier phase. Only these lead to `Preparing`. */
export const isAside = (phase: Phase): boolean => (PHASES[phase].next as readonly Phase[]).includes("Preparing");

/** The phases in which a run with open calls waits. */
export const WAITING_PHASES: readonly Phase[] = ["AwaitingApproval", "AwaitingReconcile", "AwaitingChildren"];

export const ASIDE_PHASES: readonly Phase[] = PHASE_NAMES.filter(isAside);

/** A redriven run returns to the phase where it failed. This is the only way out of a terminal phase. */
export const mayRedrive = (from: Phase, to: Phase): boolean =>
  from === "Failed" && (BACK as readonly Phase[]).includes(to);

/** Whether an event may lead from one phase to the other, including staying in a phase that is not terminal. */
export const mayFollow = (from: Phase, to: Phase): boolean =>
  (from === to && !isTerminal(from)) || PHASES[from].next.includes(to);
