/** Records the first signal of a failure. The state counts how often each was given. */
import type { Crack } from "../../core/crack.ts";
import { sectionStart } from "../../core/policy/window.ts";
import type { ActiveRun } from "./active-run.ts";

export function signalCrack(run: ActiveRun, crack: Crack, why: string): void {
  const times = (run.state.cracks?.[crack]?.times ?? 0) + 1;
  run.record({ kind: "CrackSignalled", at: run.now, crack, why, times, section: sectionStart(run.state) });
}
