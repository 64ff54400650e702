/**
 * What a run asks a human, as interrupts of AG-UI (ADR 0097), beside the segments of the AI SDK's stream. A pure fold of
 * the log: a segment that is streamed again has the interrupts that were open when it ended.
 */
import { BUDGET } from "../../core/policy/extension.ts";
import type { Json } from "../../core/json.ts";
import type { TimelineEntry } from "../../operations/views.ts";
import { type UiSegment, type UiFold, addEntries, answerEntry, uiFold } from "../chat/ui-messages.ts";

/** What a run needs from a human, as AG-UI asks for it. */
interface Interrupt extends Readonly<Record<string, Json>> {
  /** A gate, or the entry of an answer. */
  readonly id: string;
  readonly toolCallId: string;
}

/** What is known of a run after some of its events. */
export interface AgUiFold {
  readonly ui: UiFold;
  /** What each open call asks a human, by call. */
  readonly asks: Map<string, Interrupt>;
  /** What was open when each segment ended. */
  readonly ends: Map<UiSegment, readonly Interrupt[]>;
}

/** The fold of a run without events. */
export const agUiFold = (run: string): AgUiFold => ({ ui: uiFold(run), asks: new Map(), ends: new Map() });

/** Adds the next events. They have to be whole commits. */
export function addCommits({ ui, asks, ends }: AgUiFold, entries: readonly TimelineEntry[]): void {
  for (const commit of Map.groupBy(entries, ({ version }) => version).values()) {
    addEntries(ui, commit);
    for (const entry of commit) note({ ui, asks }, entry);
    const last = ui.segments.at(-1);
    if (last?.isDone !== true || ends.has(last)) continue;
    ends.set(
      last,
      [...asks.values()].filter(({ toolCallId }) => ui.calls.open.has(toolCallId)),
    );
  }
}

function note({ ui, asks }: Pick<AgUiFold, "ui" | "asks">, entry: TimelineEntry): void {
  if (entry.kind === "ApprovalRequested" && entry.call !== BUDGET) {
    const { gate: id, call: toolCallId, reason: message } = entry;
    const tool = ui.calls.open.get(toolCallId)?.tool ?? "";
    asks.set(toolCallId, {
      id,
      reason: "tool_call",
      message,
      toolCallId,
      responseSchema: DECISION,
      metadata: { tool },
    });
  }
  if (entry.kind === "HumanApprovalReceived") asks.delete(entry.call);
  if (entry.kind === "WaitBegun" && entry.wait.for === "answer") {
    const { call: toolCallId, wait } = entry;
    const schema = isObject(wait.schema) ? { responseSchema: wait.schema } : {};
    const message = questionIn(ui, toolCallId);
    asks.set(toolCallId, { id: answerEntry(toolCallId), reason: "input_required", message, toolCallId, ...schema });
  }
}

/** The payload of a resume entry that decides about a call. */
const DECISION: Json = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" }, editedArgs: { type: "object" } },
  required: ["approved"],
};

export const isObject = (json: Json | undefined): json is Record<string, Json> =>
  typeof json === "object" && json !== null && !Array.isArray(json);

function questionIn({ questions, calls }: UiFold, call: string): string {
  const input = questions.get(call)?.["input"];
  const question = isObject(input) ? input["question"] : null;
  return typeof question === "string" ? question : `${calls.open.get(call)?.tool ?? "A tool"} asks for an answer`;
}
