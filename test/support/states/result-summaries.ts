/** Results that are too long to show, and events of their summaries, for tests. */
import type { EventOf } from "../../../src/core/event.ts";

const AT = 1_700_000_000_000;
const SHA = "0".repeat(64);

/** A call that returned a value that is too long to show. */
const resultedLarge = (call: string): EventOf<"ToolResultRecorded"> => ({
  ...{ kind: "ToolResultRecorded", at: AT, call, outcome: "succeeded", externalId: null },
  value: { kind: "blob", sha256: SHA, bytes: 40_000, head: "It begins.", tail: "It ends." },
  evidence: "the tool returned",
});

const summarised: EventOf<"ResultSummarised"> = {
  ...{ kind: "ResultSummarised", at: AT, call: "c1", model: "scripted:summaries" },
  routed: { by: "role", why: "context.model names it for summaries" },
  manifest: { bytes: 40_000, sha256: SHA, characters: 39_998, read: 39_998 },
  ...{ summary: "A summary of the result of c1.\nIt is long.", tokens: 9 },
};

const unsummarisable: EventOf<"ResultSummarised"> = {
  ...{ kind: "ResultSummarised", at: AT, call: "c1", tokens: 0, failed: true },
  manifest: { bytes: 40_000, sha256: SHA, characters: 39_998, read: 39_998 },
  summary: "There is no summary of the result of c1: no reply came.",
};

export const RESULT_SUMMARIES_EVENTS = { resultedLarge, summarised, unsummarisable };
