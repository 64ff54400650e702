/**
 * Chat: a run that has answered waits for the next message of its user instead of completing (ADR 0095). The wait is an
 * ordinary call that waits for an event, so parking, deadlines and crashes need no rule of their own. cairn adds the call
 * to a reply that has none, and the user's message settles it. The model sees neither the call nor its result.
 */
import { waitIn } from "./held-calls.ts";
import type { EventOf, ReplyPart } from "../event.ts";
import { type Message, type Part, inline, textOf, wordsOf } from "../message.ts";
import type { OpenCall, State } from "../state.ts";

/** The tool of these calls. No agent may have another tool of this name. */
export const NEXT_MESSAGE = "cairn_next_message";

/** The event that such a call waits for. Only a message ends the wait: a signal of this name is refused. */
export const NEXT_MESSAGE_EVENT = "cairn.message";

const CALL: ReplyPart = { kind: "call", tool: NEXT_MESSAGE, args: inline({}), provider: null };

/** The parts of a reply with the call that waits for the next message, if the reply is an answer. */
export function withNextMessage(parts: readonly ReplyPart[]): readonly ReplyPart[] {
  const isAnswer = parts.some((part) => part.kind === "file" || (part.kind === "text" && part.text.trim() !== ""));
  return isAnswer && !parts.some(({ kind }) => kind === "call") ? [...parts, CALL] : parts;
}

/** Whether a part belongs to the transcript only, and not to what the model reads. */
export const isHidden = (part: Part): boolean =>
  (part.kind === "call" || part.kind === "result") && part.tool === NEXT_MESSAGE;

/** The call with which the run waits for its user; undefined if it does not. */
export const waitForUser = ({ open }: Pick<State, "open">): OpenCall | undefined =>
  open.find((call) => call.tool === NEXT_MESSAGE && waitIn(call) !== undefined);

/**
 * The message that ends the wait: the first one of a user after the reply that the run waits after. It may be older than
 * the wait itself (schedule 186).
 */
export function messageFor(
  { messages }: Pick<State, "messages">,
  { call }: Pick<OpenCall, "call">,
): Message | undefined {
  const from = messages.findLastIndex(({ parts }) => parts.some((part) => part.kind === "call" && part.call === call));
  return messages.slice(from + 1).find(({ source }) => source.startsWith("user:"));
}

/** Where a message of the user comes from that ends the answer under way. It ends no wait for the next message. */
const STOP_SOURCE = "stop:";

/** How the ID of such a message begins. */
export const STOP_ID = "stop#";

/** Where a text of this sender comes from. `message`: its ID. */
export const sourceOfText = (message: string, by: string): string =>
  `${message.startsWith(STOP_ID) ? STOP_SOURCE : "user:"}${by}`;

/** The user has ended the answer under way, and has said nothing since. */
export function isAnswerStopped({ messages }: Pick<State, "messages">): boolean {
  const last = messages.findLast(
    ({ role, source }) => role === "assistant" || source.startsWith("user:") || source.startsWith(STOP_SOURCE),
  );
  return last?.source.startsWith(STOP_SOURCE) === true;
}

/** The reply that takes the place of the rest of an answer, and waits for the next message. */
export const stoppedAnswer = (at: number): Omit<EventOf<"ModelCallCompleted">, "request"> => ({
  kind: "ModelCallCompleted",
  at,
  model: "cairn",
  parts: [{ kind: "text", text: "Stopped." }, CALL],
  finish: "stop",
  tokensIn: 0,
  tokensOut: 0,
  tookMs: 0,
});

/** The reply that ends a conversation which its user left: the last answer once more, so that it is the result. */
export function lastAnswer(
  { messages }: Pick<State, "messages">,
  at: number,
): Omit<EventOf<"ModelCallCompleted">, "request"> {
  const answered = messages.findLast(({ role, parts }) => role === "assistant" && wordsOf(parts).trim() !== "");
  const text = answered === undefined ? "The conversation is over." : textOf(messages, answered.id);
  const parts = [{ kind: "text", text }] as const;
  return {
    kind: "ModelCallCompleted",
    at,
    model: "cairn",
    parts,
    finish: "idle",
    tokensIn: 0,
    tokensOut: 0,
    tookMs: 0,
  };
}
