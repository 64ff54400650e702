/** Renders summaries as lines of the timeline: of older messages, and of results that are too long to show. */
import type { EventOf } from "../core/event.ts";
import type { Paint } from "./paint.ts";
import { count, routeWords } from "./words.ts";

/** `cost`: what the call cost, in words; empty if it is not known. */
export function summaryLine(
  entry: EventOf<"Compacted"> | EventOf<"ResultSummarised">,
  { paint, cost }: { readonly paint: Paint; readonly cost: string },
): { readonly says: string } {
  const by = entry.model === undefined ? "" : ` by ${entry.model}`;
  if (entry.kind === "Compacted") {
    const { from, to, messages } = entry.replaced;
    const words = `summary${by} stands for messages ${from}–${to} (${messages}), ${count(entry.tokens, "token")}`;
    return { says: `${paint("yellow", "≡")} its context was compacted${cost}: ${words}${routeWords(entry)}` };
  }
  const { call, manifest, failed, tokens } = entry;
  const made = `the result of ${call} (${manifest.bytes} bytes)`;
  if (failed === true) return { says: `${paint("yellow", "≡")} ${made} has no summary${cost}` };
  const read = manifest.read < manifest.characters ? `, of its first ${manifest.read} characters` : "";
  const words = `${made} has a summary${by}${read}, ${count(tokens, "token")}`;
  return { says: `${paint("yellow", "≡")} ${words}${cost}${routeWords(entry)}` };
}
