/** A history as witnesses ask about it: its calls and its committed events, each with its place. */
import type { CommitRecord, Event, EventKind, EventOf } from "../../src/core/event.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { Simulated } from "./history.ts";
import { type Call, type Operation, type Placed, callsOf } from "./record.ts";
import { replay } from "./replay.ts";

/** A history with what most witnesses ask it for. */
export interface ObservedHistory {
  readonly history: Simulated;
  readonly calls: <O extends Operation>(operation: O) => readonly Call<O>[];
  /** Committed events of a kind, with the commit that made each durable. */
  readonly events: <K extends EventKind>(kind: K) => readonly Placed<{ event: EventOf<K>; epoch: number; row: Row }>[];
  /** The key of a call. */
  readonly keyOf: (call: string) => string;
}

type Witness = (seen: ObservedHistory) => boolean;

export function observeHistory(history: Simulated): ObservedHistory {
  const firsts = new Map<number, Placed<{ readonly row: Row }>>();
  for (const stored of history.stored) {
    if (!firsts.has(stored.row.version)) firsts.set(stored.row.version, stored);
  }
  const { commits } = replay(history);
  const placed = commits.flatMap(({ version, epoch, events }: CommitRecord) => {
    const first = firsts.get(version);
    if (first === undefined) return [];
    return events.map((event: Event) => ({ event, epoch, row: first.row, order: first.order }));
  });
  const keys = new Map(placed.flatMap(({ event }) => (event.kind === "ToolIntended" ? [[event.call, event.key]] : [])));
  return {
    history,
    calls: (operation) => callsOf(history.record.calls, operation),
    events: <K extends EventKind>(kind: K) =>
      placed.flatMap((each) =>
        each.event.kind === kind ? [{ ...each, event: each.event as unknown as EventOf<K> }] : [],
      ),
    keyOf: (call) => keys.get(call) ?? "",
  };
}

/** By the number of the schedule. */
export type Witnesses = Readonly<Record<number, Witness>>;
