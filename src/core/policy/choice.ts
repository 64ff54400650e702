/** How the events about choices change the state. */
import type { ChoiceEvents } from "../choice.ts";
import type { State } from "../state.ts";

/** A run that stops is judged as after a reply without calls. */
export function applyChoice(state: State, { choice, stop }: ChoiceEvents["RequestChosen"]): State {
  const { restart, agentVersion, messages } = state;
  return {
    ...state,
    ...(stop === undefined ? {} : { phase: "Reflecting", retryAt: null }),
    chosen: { choice, restart, agentVersion, messages: messages.length },
  };
}
