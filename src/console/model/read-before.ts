/** What the tools of a run gave before a call, the newest last: what its approval rests on. */
import { ledgerOf } from "../../history/call-ledger.ts";
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
    const says = typeof json === "string" ? json : JSON.stringify(json);
    return [{ call: entry.call, tool: tools.get(entry.call) ?? "", says }];
  });
  return given.slice(-SHOWN_MAX);
}
