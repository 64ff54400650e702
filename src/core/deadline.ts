/** When a run must be over, and what follows. Times are epoch milliseconds. `policy/ending.ts` has the rules. */
export interface Deadline {
  readonly at: number;
  /** An expired run compensates and waits for its children until then. Afterwards it ends with what is left. */
  readonly endBy: number;
  readonly onExpiry: "undo" | "leave";
}
