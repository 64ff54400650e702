/** What an AG-UI client says with a `RunAgentInput`: the newest message of the user, or decisions about interrupts. */
import type { Json } from "../../core/json.ts";
import type { AgUiRequest } from "./ag-ui-reader.ts";
import { CHAT } from "../../api/chat/schemas.ts";
import { type ChatDecision, answerTo } from "../chat/chat-run.ts";
import { type Fields, fieldsOf, invalid, listIn, onlyText, textIn } from "../said-fields.ts";

export interface AgUiSaid extends AgUiRequest {
  /** Null: the request only decides about interrupts. */
  readonly message: { readonly id: string; readonly text: string; readonly isFirst: boolean } | null;
  readonly decisions: readonly ChatDecision[];
}

/** Throws an `ApiProblem` if the body is no `RunAgentInput` that a run of cairn can take. */
export function agUiSaidIn(body: unknown): AgUiSaid {
  const { threadId, runId, messages: given, resume } = fieldsOf(body);
  const messages = listIn(given).map(fieldsOf);
  const isNamed = messages.every(({ id }) => typeof id === "string");
  if (!isChat(threadId)) throw invalid("#/threadId", "is not 1 to 64 letters, digits, - and _");
  if (typeof runId !== "string" || !/^.{1,128}$/s.test(runId)) throw invalid("#/runId", "is not 1 to 128 characters");
  if (!Array.isArray(given) || !isNamed) throw invalid("#/messages", "is no list of messages with an ID each");
  const request = { threadId, runId, messages: messages as unknown as AgUiRequest["messages"] };
  const decisions = listIn(resume).map((each) => decisionIn(fieldsOf(each)));
  // A user who went on while a call waits has the newest message, which the run may have or not.
  const isSaid = decisions.length === 0 || messages.at(-1)?.["role"] === "user";
  return { ...request, message: isSaid ? messageIn(messages) : null, decisions };
}

/** What follows the newest message of the user is what the client has of its answer. */
function messageIn(messages: readonly Fields[]): AgUiSaid["message"] {
  const users = messages.filter(({ role }) => role === "user");
  const { id, content } = users.at(-1) ?? {};
  if (users.length === 0) throw invalid("#/messages", "there is no message of the user");
  if (!isChat(id)) throw invalid("#/messages", "the ID of the last message is not 1 to 64 letters, digits, - and _");
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : listIn(content).map(fieldsOf);
  if (parts.some(({ type }) => type !== "text")) throw onlyText("thread");
  const text = parts.map((part) => textIn(part["text"])).join("\n");
  if (text.trim() === "") throw invalid("#/messages", "the last message of the user has no text");
  return { id, text, isFirst: users.length === 1 };
}

/** Only an explicit `approved: true` approves. */
function decisionIn({ interruptId, status, payload }: Fields): ChatDecision {
  const entry = textIn(interruptId);
  const isCancelled = status === "cancelled";
  if (entry === "" || (status !== "resolved" && !isCancelled))
    throw invalid("#/resume", "an entry has no interruptId, or its status is neither resolved nor cancelled");
  if (entry.startsWith(ANSWER)) {
    if (isCancelled)
      throw invalid("#/resume", "a question of the agent needs an answer: resolve it, or cancel the run");
    return answerTo(entry.slice(ANSWER.length), (payload ?? null) as Json);
  }
  const { approved, reason, editedArgs } = fieldsOf(payload);
  if (!isCancelled && typeof approved !== "boolean")
    throw invalid("#/resume", "the payload of a decision is { approved: true or false, reason?, editedArgs? }");
  const note = typeof reason === "string" && reason !== "" ? reason : null;
  const path = `approvals/${encodeURIComponent(entry)}`;
  if (isCancelled || approved !== true) return { entry, path, body: { as: "deny", note } };
  if (editedArgs === undefined) return { entry, path, body: { as: "approve", note } };
  return { entry, path, body: { as: "edit", args: editedArgs as Json, note } };
}

const ANSWER = "answer:";

const isChat = (value: unknown): value is string => typeof value === "string" && CHAT.test(value);
