/**
 * What a run keeps of the functions of the language that its code changed. The first time it goes on in a fresh process.
 * The second time it waits for an operator: a tool that loads a polyfill whenever it is first called would otherwise end
 * one process after the other, and each time the other runs of that process (schedule 228).
 */
import { type ChangedIntrinsic, INTRINSIC_CHANGED, changeWords } from "../changed-intrinsic.ts";
import type { Failure } from "../event.ts";
import type { State } from "../state.ts";

/** Whether the run knows of this change already. A report comes again if its attempt dies. */
export const isKnownChange = ({ changedIntrinsics = [] }: State, { tool, epoch }: ChangedIntrinsic): boolean =>
  changedIntrinsics.some((known) => known.tool === tool && known.epoch >= epoch);

/** Whether the same tool, or other code of the agent, has changed a function before. */
export const isRepeatedChange = ({ changedIntrinsics = [] }: State, { tool, epoch }: ChangedIntrinsic): boolean =>
  changedIntrinsics.some((known) => known.tool === tool && known.epoch < epoch);

/** The state that knows of the change. It keeps the newest one of each tool. */
export function withChangedIntrinsic(state: State, changed: ChangedIntrinsic): State {
  const others = (state.changedIntrinsics ?? []).filter(({ tool }) => tool !== changed.tool);
  return { ...state, changedIntrinsics: [...others, changed] };
}

/** Why the run waits for an operator. */
export const repeatedChange = (changed: ChangedIntrinsic): Failure => ({
  code: INTRINSIC_CHANGED,
  message:
    `${changeWords(changed)}, for the second time; the records of all runs there rely on it, so load polyfills with the ` +
    "agent's file, or mend the tool",
});
