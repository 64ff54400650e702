/** What a caller learns while the spend cap of the day is reached. */
import type { SpendCapReached } from "../features/spend-caps/today.ts";
import { OPERATIONS } from "../operations/table.ts";
import { type ApiProblem, problemAs } from "./problem.ts";

export const spendCapped = ({ spentUsd, capUsd, resetsAt }: SpendCapReached): ApiProblem =>
  problemAs(OPERATIONS.start, "spendCapReached", {
    detail: `no run was started: all runs together have spent what they may in a day; send it again after ${new Date(resetsAt).toISOString()}`,
    facts: { spentUsd, capUsd, resetsAt, outcome: { kind: "spendCapReached", spentUsd, capUsd, resetsAt } },
  });
