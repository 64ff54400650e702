/**
 * The diagnosis of a run (seed 4: failure shapes): which typical failure its events show, with the evidence, and what an
 * operator does first. It reads what was recorded and calls nothing. A run without evidence may still be wrong: what no
 * gate, check or precondition looks at leaves no signal.
 */
import { EFFECTS } from "../core/calls/effects.ts";
import type { LedgerEntry } from "../codec/archive.ts";
import { workInWords, workStands } from "../core/calls/outside.ts";
import { proposedCalls } from "../core/calls/proposed-calls.ts";
import type { Crack } from "../core/crack.ts";
import { ALL_CRACKS } from "../core/topologies/cracks.ts";
import { hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "../history/damage.ts";
import { RowUnreadable } from "../codec/row.ts";
import { type TimelineEntry, ledger, timeline } from "./views.ts";

/** One line of the diagnosis. */
export interface Finding {
  /**
   * The crack; or `duplicateEffect`: an effect without a key that prevents a second one; or `cutReplies`: replies of the
   * model that its limit of tokens cut.
   */
  readonly likely: Crack | "duplicateEffect" | "cutReplies";
  readonly topology: string | null;
  readonly observe: string;
  readonly response: string;
  /** What the run recorded, with the version of the commit; empty: nothing points to it. */
  readonly evidence: readonly string[];
}

const DUPLICATE = {
  likely: "duplicateEffect",
  topology: null,
  observe: "the run was resumed, and a user got an e-mail or a charge twice",
  response: "write a key before the call (effect: keyed, key), and check that the service deduplicates on it",
} as const;

const CUT = {
  likely: "cutReplies",
  topology: null,
  observe: "replies end in the middle, and their calls do not run",
  response: "set modelOptions.maxOutputTokens higher, ask for less reasoning, or give the agent smaller steps",
} as const;

/** Every failure, those with evidence first. Null if there is no such run. */
export async function diagnose(world: World, run: string): Promise<readonly Finding[] | null> {
  const events = await timeline(world, { run, after: 0 });
  const calls = await ledger(world, run);
  if (events === null || calls === null) return null;
  const silent = await silentChildren(world, events);
  return findingsIn(events, { calls, silent });
}

/** The findings of these events. `silent`: children that ended without a report that the run has taken in. */
export function findingsIn(
  events: readonly TimelineEntry[],
  of: { readonly calls: readonly LedgerEntry[]; readonly silent: readonly string[] },
): readonly Finding[] {
  const extra: Partial<Record<Crack, readonly string[]>> = {
    runaway: repeated(events),
    lostHandoff: [...of.silent, ...of.calls.flatMap(leftBehind)],
  };
  const cracks = ALL_CRACKS.map(({ crack, topology, observe, response }): Finding => ({
    ...{ likely: crack, topology, observe, response },
    evidence: [...signals(events, crack), ...(extra[crack] ?? [])],
  }));
  const all: readonly Finding[] = [
    ...cracks,
    { ...DUPLICATE, evidence: duplicates(events, of.calls) },
    { ...CUT, evidence: cuts(events) },
  ];
  return [...all.filter(({ evidence }) => evidence.length > 0), ...all.filter(({ evidence }) => evidence.length === 0)];
}

/** A hand-off that did not succeed, and whose child run acted outside. */
const leftBehind = ({ call, tool, status, outside }: LedgerEntry): readonly string[] =>
  outside === undefined || status === "succeeded" || !workStands(outside)
    ? []
    : [`${tool} (${call}) is ${status}, after ${workInWords(outside)}`];

const signals = (events: readonly TimelineEntry[], crack: Crack): readonly string[] =>
  events.flatMap((event) =>
    event.kind === "CrackSignalled" && event.crack === crack ? [`version ${event.version}: ${event.why}`] : [],
  );

const cuts = (events: readonly TimelineEntry[]): readonly string[] =>
  events.flatMap((event) =>
    event.kind === "ModelCallCompleted" && event.cut !== undefined
      ? [`version ${event.version}: cut by ${event.cut.limit} after ${event.tokensOut} tokens`]
      : [],
  );

/** Fewer equal calls are usual: a poll, or a second look. */
const REPEATED_MIN = 5;

/** Calls with the same arguments, by tool. */
function repeated(events: readonly TimelineEntry[]): readonly string[] {
  const [tools, groups] = [
    new Map(proposedCalls(events).map(({ call, tool }) => [call, tool])),
    new Map<string, readonly string[]>(),
  ];
  for (const event of events) {
    if (event.kind !== "ToolIntended" || event.call.startsWith("undo-")) continue;
    const group = `${tools.get(event.call) ?? ""} ${event.argsDigest}`;
    groups.set(group, [...new Set([...(groups.get(group) ?? []), event.call])]);
  }
  const deaths = events.filter((event) => event.kind === "RecoveryDecided" && event.action.kind === "takeover").length;
  const carried = deaths === 0 ? "" : `; what it used before its ${deaths} takeovers counts towards its cap`;
  return [...groups].flatMap(([group, calls]) =>
    calls.length < REPEATED_MIN
      ? []
      : [
          `${group.split(" ")[0] ?? ""} was called ${calls.length} times with the same arguments (${calls[0] ?? ""} to ${calls.at(-1) ?? ""})${carried}`,
        ],
  );
}

/** Effects that may have happened twice: the same arguments under two keys, or a call without a key that ran again. */
function duplicates(events: readonly TimelineEntry[], calls: readonly LedgerEntry[]): readonly string[] {
  const digests = new Map(
    events.flatMap((event) => (event.kind === "ToolIntended" ? [[event.call, event.argsDigest]] : [])),
  );
  const acted = calls.filter(
    ({ effect, status, undoes, outside }) =>
      effect !== null &&
      EFFECTS[effect].actsOutside &&
      undoes === undefined &&
      (MAY_STAND.has(status) || workStands(outside)),
  );
  const again = acted.flatMap((call, index) => {
    const first = acted
      .slice(0, index)
      .find((each) => each.tool === call.tool && digests.get(each.call) === digests.get(call.call));
    if (first === undefined || first.key === call.key) return [];
    return [
      `${call.tool} ran as ${first.call} and as ${call.call} with the same arguments, under the keys ${first.key ?? "-"} and ${call.key ?? "-"}`,
    ];
  });
  const unkeyed = acted.flatMap(({ call, tool, effect, attempts }) =>
    effect !== null && !EFFECTS[effect].isKnownByKey && attempts > 1
      ? [`${tool} (${call}) was released ${attempts} times, and no key lets the service see that`]
      : [],
  );
  return [...again, ...unkeyed];
}

const MAY_STAND: ReadonlySet<LedgerEntry["status"]> = new Set(["succeeded", "reconciled", "unknown"]);

/** Children that have ended and whose end the run has not taken in. */
async function silentChildren(world: World, events: readonly TimelineEntry[]): Promise<readonly string[]> {
  const heard = new Set(
    events.flatMap((event) =>
      event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "child"
        ? [event.body.child]
        : [],
    ),
  );
  const waiting = events.flatMap((event) =>
    event.kind === "ChildStarted" && !heard.has(event.child) ? [event.child] : [],
  );
  const found = await Promise.all(
    waiting.map(async (child) => {
      const row = await findRow(world, child, world.clock.now());
      if (row === null) return [`child ${child} is gone, and its end was never taken in`];
      if (row instanceof RowUnreadable) return [`the row of child ${child} cannot be read`];
      return hasEnded(row) ? [`child ${child} ended as ${row.status}, and its end was not taken in`] : [];
    }),
  );
  return found.flat();
}
