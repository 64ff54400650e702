/** What the page of a `useChat` says with a request: the last message of its list. */
import type { Json } from "../../core/json.ts";
import { CHAT } from "../../api/chat/schemas.ts";
import type { CallOutput, Decision } from "./chat-run.ts";
import { type Fields, fieldsOf, invalid, listIn, onlyText, textIn } from "../said-fields.ts";

export type Said =
  | {
      readonly kind: "message";
      /** The ID that the page gave to the message: the same one twice is one message. */
      readonly id: string;
      readonly text: string;
      /** It is the first message of the user in the list. */
      readonly isFirst: boolean;
    }
  | {
      readonly kind: "decisions";
      readonly decisions: readonly Decision[];
      /** What the calls of the last step gave. Only those that wait for a human take it as an answer. */
      readonly outputs: readonly CallOutput[];
    };

/** Throws an `ApiProblem` if the body is none that `WorkflowChatTransport` sends. */
export function saidIn(body: unknown): Said {
  const messages = listIn(fieldsOf(body)["messages"]).map(fieldsOf);
  const last = messages.at(-1);
  if (last === undefined) throw invalid("#/messages", "there is no message");
  const parts = listIn(last["parts"]).map(fieldsOf);
  if (last["role"] === "assistant") return givenIn(parts);
  if (last["role"] !== "user")
    throw invalid("#/messages", "the last message is neither of the user nor of the assistant");
  if (parts.some(({ type }) => type !== "text")) throw onlyText("chat");
  const text = parts.map((part) => textIn(part["text"])).join("\n");
  const id = textIn(last["id"]);
  if (!CHAT.test(id)) throw invalid("#/messages", "the ID of the last message is not 1 to 64 letters, digits, - and _");
  if (text.trim() === "") throw invalid("#/messages", "the last message has no text");
  return { kind: "message", id, text, isFirst: messages.filter(({ role }) => role === "user").length === 1 };
}

function givenIn(parts: readonly Fields[]): Said {
  const decisions = parts
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
  const step = parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1);
  const outputs = step
    .filter(({ state, toolCallId }) => state === "output-available" && textIn(toolCallId) !== "")
    .map(({ toolCallId, output }) => ({ call: textIn(toolCallId), output: (output ?? null) as Json }));
  if (decisions.length + outputs.length > 0) return { kind: "decisions", decisions, outputs };
  throw invalid(
    "#/messages",
    "the last message is of the assistant and holds no decision and no output of a call that asks: send a message of the user",
  );
}
