/** What the page of a `useChat` says with a request: a message, decisions and answers, or that an answer is made anew. */
import type { Json } from "../../core/json.ts";
import { CHAT } from "../../api/chat/schemas.ts";
import type { CallOutput, ChatDecision } from "./chat-run.ts";
import { type Fields, fieldsOf, invalid, listIn, onlyText, textIn } from "../said-fields.ts";

/** A message of the user. */
export interface SaidMessage {
  readonly kind: "message";
  /** The ID that the page gave to the message: the same one twice is one message. */
  readonly id: string;
  readonly text: string;
  /** It is the first message of the user in the list. */
  readonly isFirst: boolean;
  /** The page took back what followed the message: to change it, or to get another answer. Null: it is the newest one. */
  readonly anew: "edit" | "answer" | null;
}

/** What a human decided and answered. */
export interface SaidDecisions {
  readonly kind: "decisions";
  readonly decisions: readonly ChatDecision[];
  /** What the calls of the last step gave. Only those that wait for a human take it as an answer. */
  readonly outputs: readonly CallOutput[];
  /** The page shows what follows in a message of its own, without parts: the decisions are of another message. */
  readonly isElsewhere: boolean;
}

/** `rest`: the page has nothing to say, and an empty message for what follows. */
export type UiSaid = SaidMessage | SaidDecisions | { readonly kind: "rest" };

/** Throws an `ApiProblem` if the body is none that a transport of the AI SDK sends. */
export function saidIn(body: unknown): UiSaid {
  const { messages: given, trigger, messageId } = fieldsOf(body);
  const messages = listIn(given).map(fieldsOf);
  if (messages.length === 0) throw invalid("#/messages", "there is no message");
  if (trigger !== undefined && trigger !== null && trigger !== "submit-message" && trigger !== "regenerate-message")
    throw invalid("#/trigger", "is neither submit-message nor regenerate-message");
  const isAgain = trigger === "regenerate-message";
  const named = isAgain ? undefined : messages.find(({ id }) => typeof messageId === "string" && id === messageId);
  const target = named?.["role"] === "assistant" ? named : (messages.at(-1) ?? {});
  if (target["role"] === "assistant") return givenIn(messages, target);
  if (target["role"] !== "user")
    throw invalid("#/messages", "the last message is neither of the user nor of the assistant");
  return messageIn(messages, target, isAgain ? "answer" : named === undefined ? null : "edit");
}

function messageIn(messages: readonly Fields[], last: Fields, anew: SaidMessage["anew"]): SaidMessage {
  const parts = listIn(last["parts"]).map(fieldsOf);
  if (parts.some(({ type }) => type !== "text")) throw onlyText("chat");
  const text = parts.map((part) => textIn(part["text"])).join("\n");
  const id = textIn(last["id"]);
  if (!CHAT.test(id)) throw invalid("#/messages", "the ID of the last message is not 1 to 64 letters, digits, - and _");
  if (text.trim() === "") throw invalid("#/messages", "the last message has no text");
  return { kind: "message", id, text, isFirst: messages.filter(({ role }) => role === "user").length === 1, anew };
}

/** What a human decided in any message, and answered in this one: a user may have gone on meanwhile. */
function givenIn(messages: readonly Fields[], target: Fields): UiSaid {
  const parts = listIn(target["parts"]).map(fieldsOf);
  const own = decisionsIn(parts);
  const others = messages.filter((each) => each !== target && each["role"] === "assistant");
  const elsewhere = others.flatMap((each) => decisionsIn(listIn(each["parts"]).map(fieldsOf)));
  const step = parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1);
  const outputs = outputsIn(step);
  const decisions = [...elsewhere, ...own];
  const isEmpty = parts.length === 0;
  if (own.length + outputs.length > 0 || (isEmpty && decisions.length > 0))
    return { kind: "decisions", decisions, outputs, isElsewhere: isEmpty };
  if (isEmpty && others.length > 0) return { kind: "rest" };
  throw invalid(
    "#/messages",
    "the last message is of the assistant and holds no decision and no output of a call that asks: send a message of the user",
  );
}

const decisionsIn = (parts: readonly Fields[]): readonly ChatDecision[] =>
  parts
    .filter(({ state }) => state === "approval-responded")
    .map(({ approval }) => fieldsOf(approval))
    .map(({ id, approved, reason }) => ({
      entry: textIn(id),
      path: `approvals/${encodeURIComponent(textIn(id))}`,
      body: {
        as: approved === true ? "approve" : "deny",
        note: typeof reason === "string" && reason !== "" ? reason : null,
      },
    }));

const outputsIn = (step: readonly Fields[]): readonly CallOutput[] =>
  step
    .filter(({ state, toolCallId }) => state === "output-available" && textIn(toolCallId) !== "")
    .map(({ toolCallId, output }) => ({ call: textIn(toolCallId), output: (output ?? null) as Json }));
