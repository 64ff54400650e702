/**
 * The diagnosis of a run: which typical failure its events show, with the evidence, and what an
 * operator does first. It reads what was recorded and calls nothing. A run without evidence may still be wrong: what no
 * gate, check or precondition looks at leaves no signal.
 */
import { EFFECTS } from "../core/calls/effects.ts";
import type { LedgerEntry } from "../codec/archive.ts";
import { workInWords, workStands } from "../core/calls/outside.ts";
import { countAfter, proposedBy } from "../core/calls/proposed-calls.ts";
import type { Crack } from "../core/crack.ts";
import { ALL_CRACKS } from "../core/topologies/cracks.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { findRow } from "../history/damage.ts";
import { RowUnreadable } from "../codec/row.ts";
import { ledgerSteps } from "../history/call-ledger.ts";
import { type Steps, atOnce, eachOf, inTurns } from "../history/stepwise.ts";
import { type TimelineEntry, timeline } from "./views.ts";

/** One line of the diagnosis. */
export interface DiagnosisLine {
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
export async function diagnose(world: World, run: string): Promise<readonly DiagnosisLine[] | null> {
  const events = await timeline(world, { run, after: 0 });
  if (events === null) return null;
  const turn = world.reading?.turn;
  const calls = await inTurns(ledgerSteps(events), turn);
  const silent = await silentChildren(world, run, await inTurns(waitingSteps(events), turn));
  return inTurns(findingSteps(events, { calls, silent }), turn);
}

interface Known {
  readonly calls: readonly LedgerEntry[];
  /** Children that ended without a report that the run has taken in. */
  readonly silent: readonly string[];
}

/** The findings of these events. */
export const findingsIn = (events: readonly TimelineEntry[], known: Known): readonly DiagnosisLine[] =>
  atOnce(findingSteps(events, known));

function* findingSteps(events: readonly TimelineEntry[], { calls, silent }: Known): Steps<readonly DiagnosisLine[]> {
  const seen = yield* noticed(events);
  const extra: Partial<Record<Crack, readonly string[]>> = {
    runaway: repeated(seen),
    lostHandoff: [...silent, ...calls.flatMap(leftBehind)],
  };
  const cracks = ALL_CRACKS.map(({ crack, topology, observe, response }): DiagnosisLine => ({
    likely: crack,
    topology,
    observe,
    response,
    evidence: [...(seen.signals.get(crack) ?? []), ...(extra[crack] ?? [])],
  }));
  const all: readonly DiagnosisLine[] = [
    ...cracks,
    { ...DUPLICATE, evidence: duplicates(seen, calls) },
    { ...CUT, evidence: seen.cuts },
  ];
  return [...all.filter(({ evidence }) => evidence.length > 0), ...all.filter(({ evidence }) => evidence.length === 0)];
}

/** What the events say, in one pass. */
interface Noticed {
  readonly signals: ReadonlyMap<Crack, readonly string[]>;
  readonly cuts: readonly string[];
  /** The calls with the same tool and arguments, by these. */
  readonly equal: ReadonlyMap<string, ReadonlySet<string>>;
  /** The digest of the arguments of each call that was intended. */
  readonly digests: ReadonlyMap<string, string>;
  /** The calls that made a child run, and those of which a human said that they did not happen. */
  readonly handOffs: ReadonlySet<string>;
  readonly denied: ReadonlySet<string>;
  readonly deaths: number;
}

function* noticed(events: readonly TimelineEntry[]): Steps<Noticed> {
  const signals = new Map<Crack, string[]>();
  const cuts: string[] = [];
  const [tools, digests] = [new Map<string, string>(), new Map<string, string>()];
  const equal = new Map<string, Set<string>>();
  const [handOffs, denied] = [new Set<string>(), new Set<string>()];
  let [proposed, deaths] = [0, 0];
  yield* eachOf(events, (event) => {
    for (const { call, tool } of proposedBy(event, proposed)) tools.set(call, tool);
    proposed = countAfter(event, proposed);
    if (event.kind === "CrackSignalled") {
      const told = signals.get(event.crack) ?? [];
      told.push(`version ${event.version}: ${event.why}`);
      signals.set(event.crack, told);
    }
    if (event.kind === "ModelCallCompleted" && event.cut !== undefined)
      cuts.push(`version ${event.version}: cut by ${event.cut.limit} after ${event.tokensOut} tokens`);
    if (event.kind === "ToolIntended") {
      digests.set(event.call, event.argsDigest);
      const name = `${tools.get(event.call) ?? ""} ${event.argsDigest}`;
      if (!event.call.startsWith("undo-")) equal.set(name, (equal.get(name) ?? new Set()).add(event.call));
    }
    if (event.kind === "ChildDispatched") handOffs.add(event.call);
    if (event.kind === "ToolResultReconciled" && event.answer.as === "failed") denied.add(event.call);
    if (event.kind === "RecoveryDecided" && event.action.kind === "takeover") deaths += 1;
  });
  return { signals, cuts, equal, digests, handOffs, denied, deaths };
}

/** A hand-off that did not succeed, and whose child run acted outside. */
const leftBehind = ({ call, tool, status, outside }: LedgerEntry): readonly string[] =>
  outside === undefined || status === "succeeded" || !workStands(outside)
    ? []
    : [`${tool} (${call}) is ${status}, after ${workInWords(outside)}`];

/** Fewer equal calls are usual: a poll, or a second look. */
const REPEATED_MIN = 5;

/** Calls with the same arguments, by tool. */
function repeated({ equal, deaths }: Noticed): readonly string[] {
  const carried = deaths === 0 ? "" : `; what it used before its ${deaths} takeovers counts towards its cap`;
  const groups = [...equal].map(([group, calls]) => [group, [...calls]] as const);
  return groups.flatMap(([group, calls]) =>
    calls.length < REPEATED_MIN
      ? []
      : [
          `${group.split(" ")[0] ?? ""} was called ${calls.length} times with the same arguments (${calls[0] ?? ""} to ${calls.at(-1) ?? ""})${carried}`,
        ],
  );
}

/**
 * A call whose effect may stand, and stands once more if it is made again. That of a hand-off is what its child did, and a
 * value that is written again is the same value.
 */
const mayDouble = ({ handOffs, denied }: Noticed, { call, effect, status, undoes, outside }: LedgerEntry): boolean =>
  effect !== null &&
  EFFECTS[effect].actsOutside &&
  (EFFECTS[effect].isKnownByKey || !EFFECTS[effect].isDeduplicated) &&
  undoes === undefined &&
  (workStands(outside) || (MAY_STAND.has(status) && !handOffs.has(call) && !denied.has(call)));

/**
 * The calls whose effects stand. Calls under one key are one effect, so the undo of one of them undoes those before it, and
 * what is made under that key afterwards is made once.
 */
function standingIn(seen: Noticed, calls: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const named = new Map(calls.map((call) => [call.call, call]));
  let standing: readonly LedgerEntry[] = [];
  for (const call of calls) {
    const undone = named.get(call.undoes ?? "");
    if (undone?.status === "compensated")
      standing = standing.filter(({ tool, key }) => tool !== undone.tool || key !== undone.key);
    if (mayDouble(seen, call)) standing = [...standing, call];
  }
  return standing;
}

/**
 * Effects that may have happened twice: the same arguments under two keys, one key of which the service made two things, or
 * a call without a key that ran again.
 */
function duplicates(seen: Noticed, calls: readonly LedgerEntry[]): readonly string[] {
  const { digests } = seen;
  const acted = standingIn(seen, calls);
  const firsts = new Map<string, LedgerEntry>();
  const again = acted.flatMap((call) => {
    const name = `${call.tool} ${digests.get(call.call) ?? ""}`;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, call);
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
  return [...again, ...keysIgnored(acted), ...unkeyed];
}

/** Calls under one key whose results name different things in the service: it does not deduplicate on the key. */
function keysIgnored(acted: readonly LedgerEntry[]): readonly string[] {
  const firsts = new Map<string, LedgerEntry>();
  return acted.flatMap((call) => {
    const { key, externalId } = call;
    if (key === null || externalId === null || call.outside !== undefined) return [];
    const first = firsts.get(`${call.tool} ${key}`);
    if (first === undefined) firsts.set(`${call.tool} ${key}`, call);
    if (first === undefined || first.externalId === externalId) return [];
    return [
      `${call.tool} ran as ${first.call} and as ${call.call} under the key ${key}, and the service made ${first.externalId} and ${externalId}: it ignores the key`,
    ];
  });
}

const MAY_STAND: ReadonlySet<LedgerEntry["status"]> = new Set(["succeeded", "reconciled", "unknown"]);

/** Children that were started, and whose end the run has not taken in. */
function* waitingSteps(events: readonly TimelineEntry[]): Steps<readonly string[]> {
  const heard = new Set<string>();
  const started: string[] = [];
  yield* eachOf(events, (event) => {
    if (event.kind === "ChildStarted") started.push(event.child);
    if (event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "child")
      heard.add(event.body.child);
  });
  return started.filter((child) => !heard.has(child));
}

/**
 * Those of the children that have ended, and whose end the run will not take in by itself. A run that is at work, or that
 * was woken and has not read its inbox since, reads it in its next beat.
 */
async function silentChildren(world: World, run: string, waiting: readonly string[]): Promise<readonly string[]> {
  if (waiting.length === 0) return [];
  const boss = await findRow(world, run, world.clock.now());
  const isReading =
    boss !== null &&
    !(boss instanceof RowUnreadable) &&
    !hasEnded(boss) &&
    (boss.owner !== null || boss.wakeCount !== boss.wakeCountSeen);
  const found = await Promise.all(
    waiting.map(async (child) => {
      const row = await findRow(world, child, world.clock.now());
      if (row === null) return [`child ${child} is gone, and its end was never taken in`];
      if (row instanceof RowUnreadable) return [`the row of child ${child} cannot be read`];
      return hasEnded(row) && !(isReading && row.endNotified) && !isUnderway(row, world.clock.now())
        ? [`child ${child} ended as ${row.status}, and its end was not taken in`]
        : [];
    }),
  );
  return found.flat();
}

/** How long the delivery of an end may take, before it counts as lost. The sweeper repeats a delivery within minutes. */
const DELIVERED_WITHIN_MS = 5 * 60_000;

const isUnderway = ({ endNotified, statusSince }: Row, now: number): boolean =>
  !endNotified && now - statusSince < DELIVERED_WITHIN_MS;
