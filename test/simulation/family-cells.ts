/** What of families a set of histories met, for the reach table: who died, restarted or was forced at which level. */
import type { TimelineEntry } from "../../src/operations/views.ts";
import { BOSSES, type FamilyPlan } from "./family-plan.ts";
import { BOSS_KINDS } from "./family-topologies.ts";
import { type FamilyHistory, type Told, reportedIn, triesIn } from "./family-history.ts";

const LEVELS = ["root", "middle", "worker"] as const;
const WRITE_FAULTS = [
  ...["crash before", "crash after", "unavailable", "freeze"],
  ...["answer lost", "lands late", "conflict"],
];
const AT_ONCE = 6;
const REPORTS_AT_ONCE = `${AT_ONCE} reports in one commit`;

/** Failures of children after which they go on. */
const FAILURES = ["ModelUnavailable", "EmptyReply", "ResultInvalid", "CrashLoop"];

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
    ...FAILURES.flatMap((code) => [`failure ${code} given back`, `failure ${code} given back and completed`]),
    "child left alone",
  ],
  REPORTS_AT_ONCE,
  ...[...new Set(BOSS_KINDS)].flatMap((kind) => [`boss ${kind}`, `takeover of boss ${kind}`]),
  ...["pipeline", "plan-execute"].map((kind) => `equal work of ${kind} refused or asked about`),
  ...["equal work let through", "equal work denied", "roll-back asks a human", "roll-back undoes"],
  ...["root", "middle", "worker"].map((agent) => `fork of ${agent} started`),
  "fork of root notConfirmed",
  ...["fork made", "fork hands out", "fork with hand-offs behind it"],
].map((cell) => `family ${cell}`);

/** What the runs of one history met. */
export function familyCells({ reached, plan }: FamilyHistory, all: readonly Told[]): readonly string[] {
  const cells = new Set(reached);
  for (const { row, state, events, isForced } of all) {
    if (row.takeovers > 0) cells.add(`takeover of ${row.agent}`);
    for (const cell of bossCells({ row, state, events }, plan)) cells.add(cell);
    if (isForced) cells.add(`forced end of ${row.agent}`);
    if (events.some((event) => event.kind === "RecoveryDecided" && event.action.kind === "restart"))
      cells.add(`restart of ${row.agent}`);
    for (const cell of childCells(events)) cells.add(cell);
    for (const { failure } of triesIn(events)) {
      cells.add(`failure ${failure.code} given back`);
      if (row.status === "completed") cells.add(`failure ${failure.code} given back and completed`);
    }
    if (!events.some((event) => event.kind === "CheckFailed" && event.isAnswer === true)) continue;
    cells.add("answer given back");
    if (row.status === "completed") cells.add("answer given back and completed");
  }
  return [...cells].map((cell) => `family ${cell}`);
}

/** What the topology of a boss met. */
function bossCells(
  { row, state, events }: Pick<Told, "row" | "state" | "events">,
  plan: FamilyPlan,
): readonly string[] {
  const kind = plan.bosses[BOSSES.findIndex((name) => name === row.agent)];
  const isStopped = events.some(
    (event) =>
      event.kind === "ApprovalRequested" ||
      (event.kind === "ToolResultRecorded" && JSON.stringify(event.value).includes("AlreadyActed")),
  );
  const decided = new Set(
    events.flatMap((event) => (event.kind === "HumanApprovalReceived" ? [event.decision.as] : [])),
  );
  const undo = events.filter((event) => event.kind === "TopologyMoved" && (event.repeats?.undo?.length ?? 0) > 0);
  const byHand = events.some((event) => event.kind === "ToolOutcomeUnknown" && event.call.startsWith("undo-"));
  const hasHandedOut = events.some((event) => event.kind === "ChildDispatched");
  const met: Readonly<Record<string, boolean>> = {
    [`boss ${kind}`]: kind !== undefined,
    [`takeover of boss ${kind}`]: kind !== undefined && row.takeovers > 0,
    [`equal work of ${kind} refused or asked about`]: isStopped,
    "equal work let through": decided.has("approve"),
    "equal work denied": decided.has("deny"),
    "roll-back asks a human": undo.length > 0 && byHand,
    "roll-back undoes": undo.length > 0,
    "fork made": state.forked !== undefined,
    "fork hands out": state.forked !== undefined && hasHandedOut,
    "fork with hand-offs behind it": (state.forked?.calls ?? 0) > 0,
  };
  return Object.entries(met).flatMap(([cell, isMet]) => (isMet ? [cell] : []));
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
