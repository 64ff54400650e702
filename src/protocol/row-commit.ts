/** How a world applies a commit (`decideCommit`). */
import { type Commit, type CommitOutcome, decideCommit } from "./row.ts";
import type { RowDecision } from "./row-decision.ts";

export const COMMIT: RowDecision<Commit, CommitOutcome> = {
  name: "commit",
  decision: decideCommit,
  reads: ({ unlessWoken }) => (unlessWoken ? ["wakeCount"] : []),
  // Also over a deadline that a message extended meanwhile: the next message extends it again.
  replaces: () => ["deadline"],
  // A release may be told to a human by any process that sees it, so no process may see it before the disk has it.
  durable: ({ durable = "now", release }) => (durable === "later" || release ? durable : "shared"),
};
