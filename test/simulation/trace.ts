/**
 * A history in lines that a person can read: who did what when, what met it, what the store said. One line per call of
 * a port and per other thing that happened, in the order of the history.
 */
import type { Row } from "../../src/protocol/row.ts";
import type { Simulated } from "./history.ts";
import type { Call } from "./record.ts";

/** Everything that a history left behind: run twice, a seed gives the same text. */
export const traceOf = (history: Simulated): string =>
  JSON.stringify({
    ...{ rows: history.rows, effects: history.outside.effects, begun: history.outside.begun },
    ...{ answers: history.answers, steered: history.steered, telemetry: history.record.telemetry },
    ...{ calls: history.record.calls.map(lineOf), notes: history.record.notes },
  });

export function linesOf({ record }: Simulated): readonly string[] {
  const said = [...record.calls, ...record.notes].toSorted((one, other) => one.order - other.order);
  const start = said[0]?.at ?? 0;
  return said.map((each) => {
    const seconds = ((each.at - start) / 1_000).toFixed(3);
    const text = "text" in each ? each.text : lineOf(each);
    return `${String(each.step).padStart(5)} ${seconds.padStart(9)} s  ${each.who.padEnd(9)} ${text}`;
  });
}

function lineOf(call: Call): string {
  const { operation, of, fault, outcome } = call;
  const met = fault === null ? "" : `  [${fault}]`;
  const first = !operation.startsWith("chain.") ? of[0] : of;
  const said = outcome === null ? "" : ` → ${answerOf(outcome)}`;
  return `${operation} ${briefly(first)}${said}${met}`;
}

/** What of a request tells it apart from others. */
const NOTE_PATTERN =
  /^(chain|epoch|version|retry|owner|commitId|token|wakeCountSeen|release|unlessWoken|raiseEffectsSettleAt|want|ids?|phase)$/;

function briefly(value: unknown): string {
  if (typeof value === "string") return named(value);
  if (Array.isArray(value)) return value.map(briefly).join(" ");
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .flatMap(([name, each]): string[] => {
      if (name === "entry" || name === "message") return [`(${briefly(each)})`];
      if (name === "execution") return [named(String(each))];
      if (!NOTE_PATTERN.test(name)) return [];
      return [`${name} ${typeof each === "string" ? each.slice(0, 16) : JSON.stringify(each)}`];
    })
    .join(", ");
}

/** Of what lies under a prefix its name, of an execution its number; there is only one run. */
function named(text: string): string {
  const execution = /-[a-z2-7]{26}-[a-z2-7]+-(\w+)$/.exec(text)?.[1];
  if (execution !== undefined) return `x${execution}`;
  return /-[a-z2-7]{26}$/.test(text) ? "" : text.slice(text.lastIndexOf("/") + 1).slice(0, 40);
}

function answerOf(outcome: unknown): string {
  if (outcome instanceof Uint8Array) return `${outcome.length} bytes`;
  if (Array.isArray(outcome)) return `[${outcome.map((each) => (each as { id: string }).id).join(", ")}]`;
  if (typeof outcome !== "object" || outcome === null) return String(outcome);
  if ("owner" in outcome) return rowOf(outcome as Row);
  const { kind, row } = outcome as { readonly kind?: string; readonly row?: Row };
  return `${kind ?? "page"}${row === undefined ? "" : ` {${rowOf(row)}}`}`;
}

function rowOf(row: Row): string {
  const held = row.owner === null ? "free" : `held by ${row.owner.slice(0, 6)}`;
  const flags = [row.cancel ? "cancel" : "", row.pause ? "pause" : "", row.endNotified ? "endNotified" : ""].filter(
    Boolean,
  );
  const parked = row.park === null ? "" : `, token ${row.park.token.slice(0, 6)}`;
  const counts = `chain ${row.chain}, epoch ${row.epoch}, version ${row.version}, wakeCount ${row.wakeCountSeen}/${row.wakeCount}`;
  return `${row.phase}, ${counts}, ${held}${parked}${flags.length === 0 ? "" : `, ${flags.join(" ")}`}`;
}
