/** What of its transcript a model is shown. Nothing is taken out of the transcript itself: others read it too. */
import type { Message } from "./message.ts";
import type { State } from "./state.ts";

export function shown({ messages, window }: State): readonly Message[] {
  if (window === undefined) return messages;
  const lead = window.lead.flatMap((id) => messages[Number(id.slice(1)) - 1] ?? []);
  const rest = messages.slice(window.from).filter(({ id }) => !window.lead.includes(id));
  return [...messages.slice(0, 1), ...lead, ...rest];
}

/** What belongs to this attempt: what came of the ones before it was undone, or left. */
export const ofAttempt = ({ messages, attemptFrom = 0 }: State): readonly Message[] => messages.slice(attemptFrom);
