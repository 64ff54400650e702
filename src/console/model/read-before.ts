/** What the tools of a run gave before a call, the newest last: what its approval rests on. */
import { ledgerOf } from "../../history/call-ledger.ts";
import { jsonLine } from "./visible-text.ts";
import type { TimelineEntry } from "../../operations/views.ts";

export interface ReadBefore {
  readonly call: string;
  readonly tool: string;
  readonly says: string;
}

const SHOWN_MAX = 3;

export function readBefore(entries: readonly TimelineEntry[], call: string): readonly ReadBefore[] {
  const tools = new Map(ledgerOf(entries).map((each) => [each.call, each.tool]));
  const given = entries.flatMap((entry): readonly ReadBefore[] => {
    if (entry.kind !== "ToolResultRecorded" || entry.outcome !== "succeeded" || entry.call === call) return [];
    const { value } = entry;
    const json = value.kind === "inline" ? value.json : `${value.head}…`;
    return [{ call: entry.call, tool: tools.get(entry.call) ?? "", says: jsonLine(json) }];
  });
  return given.slice(-SHOWN_MAX);
}
