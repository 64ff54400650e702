/** The views of a run for the CLI, the API and the console. All of it is read from the store, uncached. */
import { upgradesOf } from "../core/policy/holds.ts";
import { gateIn, waitIn } from "../core/calls/held-calls.ts";
import { BUDGET, extensionOf } from "../core/policy/extension.ts";
import type { LedgerEntry } from "../codec/archive.ts";
import type { Deadline } from "../core/deadline.ts";
import type { Grant } from "../core/policy/budget.ts";
import type { CommitRecord, OnUnknown } from "../core/event.ts";
import { decisionId, executionName, reconcileId } from "../protocol/ids.ts";
import type { Json } from "../core/json.ts";
import { workLines } from "../core/calls/outside.ts";
import { callOf } from "../features/approvals/core-ignored-decisions.ts";
import { argsOf } from "../core/calls/ledger.ts";
import type { Message } from "../core/message.ts";
import { redriveRefusal } from "../features/redrive/core.ts";
import type { BudgetGate, OpenCall, State, TopologyState } from "../core/state.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { ArchiveTier } from "../core/policy/retention.ts";
import { type CommittedEvent, EVENTS_PER_TURN } from "../ports/reading.ts";
import type { RunPlaces } from "../ports/run-places.ts";
import { StoreUnreachable, type World } from "../ports/world.ts";
import { droppedNames } from "../core/dropped-names.ts";
import type { RunFiring } from "../core/run-firing.ts";
import type { ParsedArgs } from "../core/parsed-args.ts";
import { stateAfterRedrive } from "../features/redrive/after-redrive.ts";
import {
  type CallCancelled,
  type ModelWaits,
  callsCancelled,
  labelOf,
  labelOfRow,
  modelWaits,
  topologyIn,
} from "./labels.ts";
import { archiveOf } from "../features/archive/archive.ts";
import { assignedIn } from "./assign.ts";
import { type GoneOn, type ShownChild, goneOn, shownChildren } from "./child-views.ts";
import { keyUndone, standingCalls, undoMarks, workUndone } from "./undo-views.ts";
import { type WaitsFor, waitsFor } from "./code-views.ts";
import { type OpenWait, openWaits } from "./wait-views.ts";
import { type ShownFile, shownFiles } from "./file-views.ts";
import { type Summary, summaryOf } from "./summary.ts";
import { ledgerOf } from "../history/call-ledger.ts";
import { unlessGone } from "../history/damage.ts";
import { type Loaded, SegmentCache, jsonOf } from "../history/load.ts";
import { commitsAfter, commitsReadable } from "../history/reader.ts";
import { loadVouched } from "../history/vouch.ts";

export type { LedgerEntry, Summary, WaitsFor };

/** A call whose outcome a human has to reconcile, with its arguments. */
export interface UnknownCall {
  readonly call: string;
  readonly tool: string;
  readonly key: string;
  /** The agent computed the idempotency key itself. */
  readonly business: boolean;
  readonly args: Json;
  /** The earliest time for the answers `retry` and `failed`, in epoch milliseconds. */
  readonly reconcilableFrom: number;
  /** Also true if the answer is still in the inbox, so that no operator is asked twice. */
  readonly answered: boolean;
  /** It goes on by itself once the agent has its tool again. */
  readonly toolGone: boolean;
  /** It did not begin, and why no beat could start it; null: its outcome is unknown. */
  readonly unbegun: string | null;
  /** The run was restored from a backup and has not made the call since: it may have happened in the lost time. */
  readonly lostTime: boolean;
  /** Why its tool needs approval, where this one question asks for that as well: `retry` approves it. */
  readonly approval?: string;
  /** What its child runs did outside, one line for each call; of an undo, those of the hand-off that it undoes. */
  readonly did: readonly string[];
  /** What follows at `reconcilableFrom` without an answer. `ask`: it keeps waiting. */
  readonly otherwise: OnUnknown;
  /** The effects of the run can be undone, including this call. */
  readonly undo: boolean;
  /** It is the undo of this call. `succeeded`: that call is undone. `failed`: its effect stays. Absent: it is no undo. */
  readonly undoes?: string;
  /** No tool can undo it: its agent declared no undo. Absent: a tool can. */
  readonly byHand?: true;
}

/** What the tool of a call gets in place of its arguments. */
export interface ShownParse {
  /** `value`: exactly this. `projection`: it is not JSON, or holds a secret, and this shows it as far as it can be shown. */
  readonly as: ParsedArgs["as"];
  readonly json: Json;
  /** The paths of what the arguments have and the tool does not get. */
  readonly dropped: readonly string[];
}

/** A call that waits for approval, frozen as it will run. For the gate `budget`, `args` are the amounts and limits. */
export interface OpenGate {
  readonly gate: string;
  readonly call: string;
  readonly tool: string;
  readonly reason: string;
  /** The arguments as the model proposed them. */
  readonly args: Json;
  /** What the schema of the tool made of them; null: the same. */
  readonly parsed: ShownParse | null;
  readonly argsHash: string;
  readonly planHash: string;
  /** Without a decision by then the gate is denied, or a human is asked again. Epoch milliseconds. */
  readonly expiresAt: number;
  /** True: a human is asked again then. */
  readonly asksAgain: boolean;
  /** Also true if the decision is still in the inbox. */
  readonly decided: boolean;
}

/** One run in full. Times are epoch milliseconds. */
export interface Shown extends Summary, ModelWaits {
  readonly label: string;
  /** The name of the execution that may drive it now, or drove it last. */
  readonly execution: string;
  /** Where it is in the services of AWS; null in the other worlds, and over HTTP for a caller without the scope `admin`. */
  readonly aws: RunPlaces | null;
  readonly task: Json;
  readonly startedAt: number | null;
  /** The identity that started the run; null if none was recorded. */
  readonly startedBy: string | null;
  /** The firing of a schedule that started it; null if none did. */
  readonly firing: RunFiring | null;
  /** When it must be over, and what happens to its effects then; null if its agent sets no deadline. */
  readonly deadline: Deadline | null;
  readonly messages: number;
  /** Messages, decisions and reports that were delivered and that no beat has taken in; null: none, as far as is known. */
  readonly unread: { readonly count: number; readonly since: number } | null;
  /** The restart number, from 1. */
  readonly attempt: number;
  readonly waitsFor: WaitsFor | null;
  /** A cancel was asked for, and the run has not ended: its calls under way. Null: none was. */
  readonly cancelling: readonly CallCancelled[] | null;
  /** The child runs that it waits for. */
  readonly children: readonly ShownChild[];
  /** What this child run went on after instead of ending; null for another run, and once it has ended. */
  readonly again: GoneOn | null;
  /** The run and version that it was forked from; null for a run that was started. */
  readonly forkedFrom: { readonly run: string; readonly version: number } | null;
  readonly unknown: readonly UnknownCall[];
  readonly gates: readonly OpenGate[];
  /** The calls that wait for an answer, an event or a time. */
  readonly waits: readonly OpenWait[];
  /** Where the topology stands, with its plan, cursor or round; null for a plain ReAct run. */
  readonly topology: TopologyState | null;
  /** What earlier runs of repeated work did outside, as far as it stands: `tool (call)`. */
  readonly standing: readonly string[];
  /** The first signals of failures that the run gave, by crack. */
  readonly cracks: NonNullable<State["cracks"]>;
  /** The newest decision that had no effect, since its gate was closed; null if there is none. */
  readonly ignoredDecision: (NonNullable<State["ignoredDecision"]> & { readonly call: string }) | null;
  /** What operators granted beyond the agent's budget; null if nothing. */
  readonly granted: Grant | null;
  /** The responsible operator, also if the assignment is still in the inbox; null if there is none. */
  readonly assigned: { readonly to: string; readonly by: string } | null;
  readonly result: Json;
  /** The files of the run, in the order of the transcript. */
  readonly files: readonly ShownFile[];
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** The run failed for a reason of infrastructure, and may go on from its last checkpoint. */
  readonly redrivable: boolean;
  /** When the retention of the run expires; null before its end is delivered. */
  readonly keptUntil: number | null;
  /** The archive of the run; null before the end is delivered. It remains when the run is gone. */
  readonly archive: { readonly tier: ArchiveTier; readonly key: string } | null;
}

export type TimelineEntry = CommittedEvent;

/** Inbox messages that a view reads. An answer behind more messages than that shows as not yet given. */
const SENT_SHOWN_MAX = 100;

/** Null if there is no such run. Throws `Unreadable`, `RowNewer` and `StoreUnreachable`. */
export async function show(world: World, run: string): Promise<Shown | null> {
  const row = await world.table.read(run, world.clock.now());
  return row === null ? null : showRow(world, row);
}

/**
 * The same for a row that was just read. Null if the run was purged in between, since its objects are gone then.
 *
 * Schedule 237: the view reads the row of a run that waits for a decision; while it waits for its turn to read the state,
 * the run takes the decision and clears its inbox; the view reads the inbox, and shows the gate as open and undecided, so
 * a client asks its human again. In a process that reads in turns the inbox is read with the row, before any turn.
 */
export async function showRow(world: World, row: Row): Promise<Shown | null> {
  try {
    const sent = world.reading === undefined || hasEnded(row) ? null : await unreadOf(world, row);
    const shown = async () => shownOf(world, { ...(await loadVouched(world, row, new SegmentCache())), sent });
    return await unlessGone(world, row, shown);
  } catch (error) {
    throw error instanceof StoreUnreachable ? unshown(row, error) : error;
  }
}

/** The object store does not answer but the table does: the error reports what the row says. */
const unshown = (row: Row, { message, store, cause }: StoreUnreachable): StoreUnreachable =>
  new StoreUnreachable(`run ${row.run} is ${row.status}, ${labelOfRow(row)}, and cannot be shown in full: ${message}`, {
    store,
    cause,
  });

const unreadOf = ({ inbox, clock }: World, { run, born }: Row): ReturnType<World["inbox"]["unread"]> =>
  inbox.unread({ run, born, now: clock.now(), limit: SENT_SHOWN_MAX });

/** `sent`: what was in the inbox when the row was read; null: it is read when that is needed. */
async function shownOf(
  world: World,
  { row, state: stored, sent: early }: Loaded & { readonly sent: Awaited<ReturnType<typeof unreadOf>> | null },
): Promise<Shown> {
  const state = stateAfterRedrive(row, stored, world.clock.now());
  const json = (value: Parameters<typeof jsonOf>[2]): Promise<Json> => jsonOf(world.objects, row, value);
  // A run that has ended takes no answers. Its ledger shows which outcomes it left unknown.
  const open = hasEnded(row) ? [] : state.open;
  const asked = open.filter(({ status }) => status === "unknown");
  const gated = open.flatMap((call) => {
    const gate = gateIn(call);
    return gate === null ? [] : [{ ...call, gate }];
  });
  const now = world.clock.now();
  const { lack } = upgradesOf(state);
  const { ignoredDecision: ignored } = state;
  const { gate: asks, granted } = extensionOf(state);
  const isAsked =
    asked.length + gated.length > 0 ||
    open.some((call) => waitIn(call) !== undefined) ||
    lack !== null ||
    asks !== null;
  const sent =
    hasEnded(row) || (!isAsked && row.wakeCount === row.wakeCountSeen && !row.pause)
      ? []
      : (early ?? (await unreadOf(world, row)));
  const isSent = (id: string): boolean => sent.some((message) => message.id === id);
  const shownUnknown = async (open: OpenCall): Promise<UnknownCall> => {
    const { call, tool, intent, reconcilableFrom, answer, timesUnknown: question, ...marks } = open;
    return {
      call,
      tool,
      toolGone: marks.toolGone ?? false,
      unbegun: marks.unbegun ?? null,
      lostTime: marks.restored !== undefined && marks.releasedBy === null,
      did: workLines(marks.outside ?? workUndone(world, row, state, marks.undoes)),
      otherwise: marks.onUnknown ?? "ask",
      reconcilableFrom: reconcilableFrom ?? 0,
      undo: intent?.undo === true,
      ...undoMarks(state, marks.undoes),
      ...(marks.approval !== undefined && { approval: marks.approval }),
      key: intent?.key ?? keyUndone(state, marks.undoes),
      business: intent?.business === true,
      answered: answer !== null || isSent(reconcileId(call, question)),
      args: await json(argsOf(state, call)),
    };
  };
  const shownGate = async ({ call, tool, intent, gate: frozen }: (typeof gated)[number]): Promise<OpenGate> => {
    const { by: _, decision, asksAgainMs, ...gate } = frozen;
    const decided = decision !== null || isSent(decisionId(gate.gate));
    const args = await json(argsOf(state, call));
    const made = intent?.parsed === undefined ? null : { ...intent.parsed, json: await json(intent.parsed.json) };
    const parsed = made && { ...made, dropped: droppedNames(args, made.json) };
    const asksAgain = asksAgainMs !== undefined;
    return { ...gate, asksAgain, call, tool, args, parsed, decided };
  };
  const unknown = await Promise.all(asked.map(shownUnknown));
  const gates = await Promise.all(gated.map(shownGate));
  if (asks !== null && !hasEnded(row)) gates.push(budgetGate(state, asks, isSent));
  return {
    ...summaryOf(row, { now, modelMs: world.limits.modelMs }),
    label: labelOf(row, state),
    execution: executionName(row.run, row.born, row.chain),
    aws: world.placesOf?.(row) ?? null,
    attempt: state.restart,
    task: await json(state.task),
    startedAt: state.startedAt,
    startedBy: state.startedBy ?? null,
    firing: state.firing ?? null,
    deadline: state.deadline ?? null,
    messages: state.messages.length,
    unread: unreadIn(sent, state),
    agentVersion: state.agentVersion,
    cancelling: callsCancelled(row, state),
    waitsFor: hasEnded(row) ? null : waitsFor(state, isSent),
    ...modelWaits(row, state),
    children: await shownChildren(world, state),
    again: hasEnded(row) ? null : goneOn(state),
    forkedFrom: state.forked === undefined ? null : { run: state.forked.run, version: state.forked.version },
    unknown,
    gates,
    waits: await openWaits({ ...state, open }, { json, isSent }),
    ignoredDecision: ignored === undefined ? null : { ...ignored, call: callOf(ignored.gate) },
    ...topologyIn(state),
    standing: standingCalls(state),
    granted: Object.keys(granted).length === 0 ? null : granted,
    assigned: assignedIn(state, sent),
    result: state.result === null ? null : await json(state.result),
    files: shownFiles(state),
    failure: hasEnded(row) ? state.failure : null,
    redrivable: row.status === "failed" && row.parent === null && redriveRefusal(state) === null,
    keptUntil: row.expiresAtSec === null ? null : row.expiresAtSec * 1_000,
    archive: row.endNotified ? archiveOf(row, state) : null,
  };
}

/** An absorbed message stays in the inbox until its ID is cleared. */
function unreadIn(sent: Awaited<ReturnType<typeof unreadOf>>, { absorbed }: State): Shown["unread"] {
  const left = sent.filter(({ id }) => !absorbed.includes(id));
  return left.length === 0 ? null : { count: left.length, since: Math.min(...left.map(({ sentAt }) => sentAt)) };
}

/** The gate of the budget. `args` holds what was spent, the limits, and the number of waiting calls. */
function budgetGate(state: State, asks: BudgetGate, isSent: (id: string) => boolean): OpenGate {
  const { decision, limits, calls, asksAgainMs, ...gate } = asks;
  const args = { spent: { ...state.spent }, limits, calls };
  return {
    ...gate,
    asksAgain: asksAgainMs !== undefined,
    call: BUDGET,
    tool: BUDGET,
    args,
    parsed: null,
    decided: decision !== null || isSent(decisionId(gate.gate)),
  };
}

/** The whole transcript, each message with its own time and source. Null if there is no such run. */
export async function transcript(world: World, run: string): Promise<readonly Message[] | null> {
  const row = await world.table.read(run, world.clock.now());
  return row === null ? null : (await loadVouched(world, row, new SegmentCache())).state.messages;
}

/** Every committed event after version `after`, in order; null if there is no such run. Reads no further back. */
export const timeline = async (
  world: World,
  place: { readonly run: string; readonly after: number },
): Promise<readonly TimelineEntry[] | null> => (await timelineWithRow(world, place))?.entries ?? null;

/** The same with the row from which it was read. Its version is the last one, also if that commit has no events. */
export async function timelineWithRow(
  world: World,
  { run, after }: { readonly run: string; readonly after: number },
): Promise<{ readonly row: Row; readonly entries: readonly TimelineEntry[] } | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return null;
  const entries: TimelineEntry[] = [];
  const read = async () => {
    await eachPart(world, { row, after }, (part) => entries.push(...part));
    return { row, entries };
  };
  return unlessGone(world, row, read);
}

/**
 * Hands the events of `row` after version `after` to `handle`, in order: part by part in a turn each where the process
 * also works for others, else all at once. Throws `Unreadable`.
 */
async function eachPart(
  { objects, reading }: Pick<World, "objects" | "reading">,
  { row, after }: { readonly row: Row; readonly after: number },
  handle: (part: readonly TimelineEntry[]) => void,
): Promise<void> {
  if (reading === undefined) return handle(entriesOf(await commitsAfter({ objects, row }, after)));
  for (let [behind, isMore] = [after, true]; isMore;) {
    const { entries, more } = await reading.eventsAfter(row, {
      after: behind,
      startIndex: null,
      eventsMax: EVENTS_PER_TURN,
    });
    handle(entries);
    [behind, isMore] = [entries.at(-1)?.version ?? behind, more];
  }
}

/** The same for `row`, from its newest commit back to the first unreadable one. `lost`: why it stops there, or null. */
export async function readableTimeline(
  world: World,
  { row, after }: { readonly row: Row; readonly after: number },
): Promise<{ readonly entries: readonly TimelineEntry[]; readonly lost: string | null }> {
  const { commits, lost } = await commitsReadable({ objects: world.objects, row }, after);
  return { entries: entriesOf(commits), lost: lost?.message ?? null };
}

const entriesOf = (commits: readonly CommitRecord[]): readonly TimelineEntry[] =>
  commits.flatMap(({ version, epoch, events }) => events.map((event) => ({ version, epoch, ...event })));

/** One entry per call that a model ever proposed, folded from the events; null if there is no such run. */
export async function ledger(world: World, run: string): Promise<readonly LedgerEntry[] | null> {
  const events = await timeline(world, { run, after: 0 });
  return events === null ? null : ledgerOf(events);
}
