/**
 * Records that code of the run changed a function of the language in an earlier process, which has ended for it. The
 * chain carries that, since the process wrote nothing more.
 */
import { type ChangedIntrinsic, INTRINSIC_CHANGED, changeWords } from "../../core/changed-intrinsic.ts";
import { isKnownChange, isRepeatedChange, repeatedChange } from "../../core/policy/changed-intrinsics.ts";
import { mayFollow } from "../../core/phases.ts";
import { alarm } from "../../history/alarm.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { goesOn } from "../context/next.ts";

/**
 * Commits the record before any code of the agent runs again: the same tool may change it again at once. The second
 * change by the same tool blocks the run (schedule 228).
 */
export async function noteChangedIntrinsic(run: ActiveRun, changed: ChangedIntrinsic): Promise<void> {
  const { state } = run;
  if (isKnownChange(state, changed)) return;
  const why = changeWords(changed);
  const rule = "a function of the language was changed";
  run.record({ kind: "RecoveryDecided", at: run.now, rule, why, action: { kind: "intrinsicChanged", changed } });
  if (isRepeatedChange(state, changed) && mayBeHeld(run)) {
    const failure = repeatedChange(changed);
    const action = { kind: "block", mends: "code", failure } as const;
    const held = "a function of the language was changed again";
    run.record({ kind: "RecoveryDecided", at: run.now, rule: held, why: failure.message, action });
    run.stepEnded(goesOn("deployment"));
  }
  alarm(run.world, run.row.run, { what: INTRINSIC_CHANGED, why });
  await run.commitPending();
}

/** A decided end is not held up: what is left of the run needs no code of its agent. */
const mayBeHeld = ({ state: { phase, ending } }: ActiveRun): boolean =>
  ending === null && phase !== "AwaitingAgent" && mayFollow(phase, "AwaitingAgent");
