/** What the moves of a topology and its first signals change in the state. */
import { afterCalls, message } from "../calls/open-calls.ts";
import { beginRepeat } from "../calls/repeats.ts";
import { ensure } from "../ensure.ts";
import type { EventOf } from "../event.ts";
import { text } from "../message.ts";
import type { State } from "../state.ts";

/** The source of a message that opens a section. */
export const SECTION = "cairn:section";

/** Stores the progress, appends the message, and opens the section. A finished topology is judged by `done` next. */
export function applyTopologyMove(state: State, event: EventOf<"TopologyMoved">): State {
  const { at, topology: kind, progress, role, where, text: say, section, final, repeats } = event;
  ensure(state.open.length === 0, "a topology moves between calls");
  ensure(section === undefined || say !== undefined, "a message opens a section");
  const { messages, restartedFrom = 0 } = state;
  const from = section === undefined ? (state.topology?.from ?? 0) : messages.length;
  const source = section === undefined ? "cairn" : SECTION;
  const said = say === undefined ? [] : [message(state, at, source, "user", [text(say)])];
  const users = messages.slice(restartedFrom).filter((each) => each.source.startsWith("user:"));
  const opened = { nudges: 0, window: { from, lead: users.map(({ id }) => id) } };
  const moved: State = {
    ...state,
    phase: final === undefined ? "AwaitingLLM" : "Reflecting",
    retryAt: null,
    ...(section === undefined ? {} : opened),
    topology: { kind, progress, role, where, from, ...(final === undefined ? {} : { final }) },
    messages: [...messages, ...said],
  };
  if (repeats === undefined) return moved;
  ensure(final === undefined, "a topology that has finished repeats nothing");
  return afterCalls(beginRepeat(moved, repeats));
}

/** Remembers the signal. */
export function applyCrack(state: State, event: EventOf<"CrackSignalled">): State {
  const { crack, why, times, at, section } = event;
  return { ...state, cracks: { ...state.cracks, [crack]: { times, at, why, section } } };
}
