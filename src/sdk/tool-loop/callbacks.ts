/** Callbacks of an AI SDK agent. A process may die after one, so it is called at least once; what it throws is passed over. */
import type { ToolLoopSettings } from "./settings.ts";

let areLeftOut = false;

/** In a process of a trial: a callback may write to a real service, which a trial may not do. */
export const leaveOutCallbacks = (): void => void (areLeftOut = true);

/** Calls the first of these that is set: the others are its older names. */
export async function callBack(settings: ToolLoopSettings, names: readonly string[], event: object): Promise<void> {
  const callback = names.map((name) => settings[name]).find((each) => typeof each === "function");
  if (callback === undefined || areLeftOut) return;
  try {
    await (callback as (event: object) => unknown)(event);
  } catch {
    // As in the AI SDK, a callback decides nothing.
  }
}

export const ON_START = ["onStart", "experimental_onStart"];
export const ON_STEP_START = ["onStepStart", "experimental_onStepStart"];
export const ON_STEP_END = ["onStepEnd", "onStepFinish"];
export const ON_END = ["onEnd", "onFinish"];
