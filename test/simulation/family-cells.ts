/** What of families a set of histories met, for the reach table: who died, restarted or was forced at which level. */
import type { TimelineEntry } from "../../src/operations/views.ts";
import { type FamilyHistory, type Told, reportedIn } from "./family-history.ts";

const LEVELS = ["root", "middle", "worker"] as const;
const WRITE_FAULTS = [
  ...["crash before", "crash after", "unavailable", "freeze"],
  ...["answer lost", "lands late", "conflict"],
];
const AT_ONCE = 6;
const REPORTS_AT_ONCE = `${AT_ONCE} reports in one commit`;

/** Every cell that histories of families have to fill. */
export const FAMILY_CELLS: readonly string[] = [
  ...["table.createChildren", "inbox.deliver"].flatMap((call) => WRITE_FAULTS.map((fault) => `${call} ${fault}`)),
  // Requests are rare.
  ...["table.request crash before", "table.request crash after"],
  ...["kill", "freeze", "presume dead", "freeze and presume dead"].flatMap((fault) => [
    `process ${fault}`,
    `${fault} of a boss with eight children out`,
  ]),
  ...LEVELS.flatMap((agent) => [
    ...["completed", "failed", "cancelled"].map((end) => `ends ${agent} ${end}`),
    ...["cancel", "undo", "restart", "pause", "send"].map((wish) => `${wish} ${agent}`),
    ...["takeover", "forced end"].map((what) => `${what} of ${agent}`),
  ]),
  "restart of root",
  "redrive root redriven",
  ...["remove middle", "remove worker"],
  ...[
    "child superseded",
    "child continued",
    "child continued and completed",
    "child never made",
    "late report counted",
    "hand-off failed",
    "answer given back",
    "answer given back and completed",
    "child left alone",
  ],
  REPORTS_AT_ONCE,
].map((cell) => `family ${cell}`);

/** What the runs of one history met. */
export function familyCells({ reached }: FamilyHistory, all: readonly Told[]): readonly string[] {
  const cells = new Set(reached);
  for (const { row, events, isForced } of all) {
    if (row.takeovers > 0) cells.add(`takeover of ${row.agent}`);
    if (isForced) cells.add(`forced end of ${row.agent}`);
    if (events.some((event) => event.kind === "RecoveryDecided" && event.action.kind === "restart"))
      cells.add(`restart of ${row.agent}`);
    for (const cell of childCells(events)) cells.add(cell);
    if (!events.some((event) => event.kind === "CheckFailed" && event.isAnswer === true)) continue;
    cells.add("answer given back");
    if (row.status === "completed") cells.add("answer given back and completed");
  }
  return [...cells].map((cell) => `family ${cell}`);
}

function childCells(events: readonly TimelineEntry[]): readonly string[] {
  const superseded = new Set(events.flatMap((event) => (event.kind === "ChildSuperseded" ? [event.child] : [])));
  const continued = new Set(events.flatMap((event) => (event.kind === "ChildContinued" ? [event.child] : [])));
  const met: Readonly<Record<string, boolean>> = {
    "child superseded": superseded.size > 0,
    "child continued": continued.size > 0,
    "child continued and completed": events.some(
      (event) =>
        event.kind === "MessageAbsorbed" &&
        event.stage === "taken" &&
        event.body.kind === "child" &&
        event.body.status === "completed" &&
        continued.has(event.body.child),
    ),
    "child never made": events.some(({ kind }) => kind === "ChildNeverMade"),
    "late report counted": reportedIn(events).some((child) => superseded.has(child)),
    "hand-off failed": events.some((event) => event.kind === "CrackSignalled" && event.crack === "lostHandoff"),
    "child left alone": events.some((event) => event.kind === "ChildDispatched" && event.left === true),
    [REPORTS_AT_ONCE]: events.some(
      ({ version }) => reportedIn(events.filter((each) => each.version === version)).length >= AT_ONCE,
    ),
  };
  return Object.entries(met).flatMap(([cell, isMet]) => (isMet ? [cell] : []));
}
