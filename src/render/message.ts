/** Renders a message that a run received, or a decision that it ignored, as one timeline line. */
import type { EventOf, MessageBody } from "../core/event.ts";
import { callOf } from "../features/approvals/core-ignored-decisions.ts";
import { filesWords } from "./files.ts";
import { short } from "./words.ts";

/** Formats a call, such as `bookFlight (c4)`. */
type Name = (call: string) => string;

const WORDS_MAX = 300;

export function messageWords(body: MessageBody, name: Name): string {
  switch (body.kind) {
    case "user":
      return `${body.by} says: ${short(body.text, WORDS_MAX)}`;
    case "userFiles":
      return `${body.by} says: ${short(body.text, WORDS_MAX)}${filesWords(body.files)}`;
    case "child":
      return `child run ${body.child} ${body.status}`;
    case "answer":
      return `${body.by} answers ${name(body.call)}`;
    case "signal":
      return `${body.by} signals event ${body.event}`;
    case "decision":
      return `a decision by ${body.decision.by} was received`;
    case "upgrade":
      return `${body.by} accepts agent version ${body.to}`;
    case "compensate":
      return `${body.by} asks to undo its effects; then ${body.next === "cancel" ? "it ends" : "it begins again"}`;
    case "assign":
      return `${body.by} assigns it to ${body.to}`;
    case "reconcile":
      return `a reconciliation of ${name(body.call)} was received`;
  }
}

/** A decision that had no effect. Its author was told that it was delivered, so the timeline reports it. */
export const decisionWords = ({ as, by, gate, why }: EventOf<"DecisionIgnored">, name: Name): string =>
  `${as} by ${by} about ${name(callOf(gate))} had no effect: ${short(why, WORDS_MAX)}`;
