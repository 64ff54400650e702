/**
 * Lays out the events of a run: beats as lanes, with marks between them for what breaks or frames them (process deaths,
 * pauses, the start, the end). The words are those of `cairn timeline`.
 */
import type { Effect } from "../../core/calls/effects.ts";
import { UNTOLD } from "../../render/story.ts";
import { tellEach } from "../../render/timeline.ts";
import { followCalls, followedCalls } from "../../core/calls/followed-calls.ts";
import { proposedBy } from "../../core/calls/proposed-calls.ts";
import { shortValue, visible } from "../../render/words.ts";
import type { TimelineEntry } from "../../operations/views.ts";

/**
 * One stretch of a lane. `lost`: its process died before it was recorded. `wait`: a human is asked. `child`: a child run
 * works, whatever becomes of the process of its parent.
 */
export interface LaneSpan {
  readonly kind: "model" | "run" | "wait" | "child" | "lost";
  readonly from: number;
  /** Null: not over yet. */
  readonly to: number | null;
}

export interface CallLane {
  readonly call: string;
  readonly tool: string;
  readonly effect: Effect | null;
  readonly spans: readonly LaneSpan[];
  readonly outcome: "open" | "succeeded" | "failed" | "unknown" | "compensated";
}

export interface EventLine {
  readonly version: number;
  readonly at: number;
  readonly kind: TimelineEntry["kind"];
  readonly says: string;
  /** The run that it is about, if it is not this one. */
  readonly about: string | null;
}

export interface Beat {
  readonly kind: "beat";
  readonly number: number;
  readonly version: number;
  readonly epoch: number;
  readonly at: number;
  readonly model: {
    readonly name: string;
    readonly span: LaneSpan;
    readonly tokens: number;
    readonly microUsd: number;
  };
  readonly lanes: readonly CallLane[];
  readonly lines: readonly EventLine[];
}

export interface RunMark {
  readonly kind: "mark";
  readonly tone: "start" | "break" | "pause" | "end" | "failed";
  readonly version: number;
  readonly epoch: number;
  readonly at: number;
  readonly lines: readonly EventLine[];
}

export type HistoryRow = Beat | RunMark;

/** The rows of these events, which must be all events of the run in order. */
export const rowsOf = (entries: readonly TimelineEntry[]): readonly HistoryRow[] => rowReader()(entries);

/**
 * Returns a function that lays out all events of a run so far, again and again. It lays out only those that came since the
 * last time, and a row that they do not change stays the same object. Other events than before begin anew.
 */
export function rowReader(): (entries: readonly TimelineEntry[]) => readonly HistoryRow[] {
  let [layout, story] = [new Layout(), UNTOLD];
  let read: readonly TimelineEntry[] = [];
  return (entries) => {
    const isMore = entries[0] === read[0] && entries[read.length - 1] === read.at(-1);
    if (!isMore) [layout, story, read] = [new Layout(), UNTOLD, []];
    const added = entries.slice(read.length);
    const told = tellEach(story, added, PLAIN);
    const says = new Map(
      told.lines.map(({ entry, says: words, shows }) => [
        entry,
        shows === undefined ? words : `${words} ${shortValue(shows, SHOWN_CHARACTERS)}`,
      ]),
    );
    for (const [index, entry] of added.entries()) layout.add(entry, says.get(entry) ?? null, added[index + 1]);
    [story, read] = [told.story, entries];
    return layout.rows();
  };
}

const SHOWN_CHARACTERS = 160;
const PLAIN = { paint: (_: string, text: string): string => text, width: Infinity } as const;

interface OpenRow {
  readonly row: HistoryRow;
  readonly lines: EventLine[];
  readonly calls: readonly string[];
  /** The row as it was shown; null: it has changed since. */
  shown: HistoryRow | null;
}

class Layout {
  readonly #rows: OpenRow[] = [];
  readonly #lanes = new Map<string, { readonly lane: CallLane; readonly in: OpenRow }>();
  /** The calls that are under way. */
  readonly #running = new Set<string>();
  #asked = 0;
  readonly #followed = followedCalls();
  #beats = 0;

  rows(): readonly HistoryRow[] {
    return this.#rows.map((open) => (open.shown ??= this.#shown(open)));
  }

  #shown({ row, lines, calls }: OpenRow): HistoryRow {
    if (row.kind === "mark") return { ...row, lines: [...lines] };
    return { ...row, lines: [...lines], lanes: calls.flatMap((call) => this.#lanes.get(call)?.lane ?? []) };
  }

  add(entry: TimelineEntry, says: string | null, next: TimelineEntry | undefined): void {
    const tone = toneOf(entry);
    if (entry.kind === "ModelCallCompleted") this.#begin(entry, next);
    else if (tone !== null) this.#mark(entry, tone);
    if (entry.kind === "RunStarted") this.#asked = entry.forked?.calls ?? 0;
    this.#follow(entry);
    const { version, at, kind } = entry;
    const open = this.#rows.at(-1);
    if (says === null || open === undefined) return;
    open.lines.push({ version, at, kind, says: visible(says), about: otherRunIn(entry) });
    open.shown = null;
  }

  #begin(
    entry: Extract<TimelineEntry, { readonly kind: "ModelCallCompleted" }>,
    next: TimelineEntry | undefined,
  ): void {
    this.#beats += 1;
    const calls = proposedBy(entry, this.#asked);
    this.#asked += calls.length;
    const { version, epoch, at, tookMs, tokensIn, tokensOut } = entry;
    const microUsd = next?.kind === "BudgetDebited" ? (next.debit.microUsd ?? 0) : 0;
    const span: LaneSpan = { kind: "model", from: at - tookMs, to: at };
    const model = { name: entry.model, span, tokens: tokensIn + tokensOut, microUsd };
    const row: Beat = { kind: "beat", number: this.#beats, version, epoch, at, model, lanes: [], lines: [] };
    const open: OpenRow = { row, lines: [], calls: calls.map(({ call }) => call), shown: null };
    this.#rows.push(open);
    for (const { call, tool } of calls) {
      this.#lanes.set(call, { lane: { call, tool, effect: null, spans: [], outcome: "open" }, in: open });
    }
  }

  #mark({ version, epoch, at }: TimelineEntry, tone: RunMark["tone"]): void {
    if (tone === "break") this.#cut(at);
    const row: RunMark = { kind: "mark", tone, version, epoch, at, lines: [] };
    this.#rows.push({ row, lines: [], calls: [], shown: null });
  }

  /** A process died: what it had begun was not recorded by it. */
  #cut(at: number): void {
    for (const call of this.#running) {
      this.#change(call, (lane) => ({
        ...lane,
        spans: lane.spans.map((span) =>
          span.kind === "run" && span.to === null ? { ...span, kind: "lost" as const, to: at } : span,
        ),
      }));
    }
  }

  #change(call: string, change: (lane: CallLane) => CallLane): void {
    const found = this.#lanes.get(call);
    if (found === undefined) return;
    const lane = change(found.lane);
    this.#lanes.set(call, { lane, in: found.in });
    found.in.shown = null;
    if (lane.spans.some(({ kind, to }) => kind === "run" && to === null)) this.#running.add(call);
    else this.#running.delete(call);
  }

  #follow(entry: TimelineEntry): void {
    if ("call" in entry) {
      const undone = entry.kind === "ToolCompensated" ? entry.call.replace("undo-", "") : entry.call;
      this.#change(undone, (lane) => followed(lane, entry));
    }
    // Whatever settles a call ends its lane.
    for (const { call, outcome } of followCalls(this.#followed, entry)) {
      this.#change(call, (lane) => ({
        ...lane,
        outcome: lane.outcome === "open" ? outcome : lane.outcome,
        spans: closed(lane.spans, entry.at),
      }));
    }
  }
}

/** The child run of an event. */
function otherRunIn(entry: TimelineEntry): string | null {
  if ("child" in entry) return entry.child;
  const body = entry.kind === "MessageAbsorbed" && entry.stage === "taken" ? entry.body : null;
  return body?.kind === "child" ? body.child : null;
}

function followed(lane: CallLane, entry: TimelineEntry): CallLane {
  const { at } = entry;
  switch (entry.kind) {
    case "ToolIntended":
      return { ...lane, effect: entry.effect };
    case "ApprovalRequested":
    case "WaitBegun":
      return { ...lane, spans: [...closed(lane.spans, at), { kind: "wait", from: at, to: null }] };
    case "HumanApprovalReceived":
      return { ...lane, spans: closed(lane.spans, at) };
    case "ToolInvoked":
      return { ...lane, outcome: "open", spans: [...closed(lane.spans, at), { kind: "run", from: at, to: null }] };
    case "ChildDispatched":
      return { ...lane, outcome: "open", spans: [...closed(lane.spans, at), { kind: "child", from: at, to: null }] };
    case "ToolResultRecorded":
      return { ...lane, outcome: entry.outcome, spans: closed(lane.spans, at) };
    case "ToolOutcomeUnknown":
      return { ...lane, outcome: "unknown", spans: closed(lane.spans, at) };
    case "ToolResultReconciled": {
      const outcome = entry.answer.as === "succeeded" ? "succeeded" : entry.answer.as === "failed" ? "failed" : "open";
      return { ...lane, outcome, spans: closed(lane.spans, at) };
    }
    case "ToolCompensated":
      return { ...lane, outcome: "compensated", spans: closed(lane.spans, at) };
    default:
      return lane;
  }
}

const closed = (spans: readonly LaneSpan[], at: number): readonly LaneSpan[] =>
  spans.map((span) => (span.to === null ? { ...span, to: at } : span));

function toneOf(entry: TimelineEntry): RunMark["tone"] | null {
  switch (entry.kind) {
    case "RunStarted":
    case "RunRedriven":
      return "start";
    case "RunPaused":
    case "RunResumed":
    case "AgentChanged":
      return "pause";
    case "RunEnded":
      return entry.status === "completed" ? "end" : "failed";
    case "ModelCallLost":
      return "break";
    case "RecoveryDecided":
      return entry.action.kind === "takeover" || entry.action.kind === "restart" ? "break" : null;
    default:
      return null;
  }
}

/** From when to when a beat lasted; `now` where it is not over. */
export function extentOf({ model, lanes }: Beat, now: number): { readonly from: number; readonly to: number } {
  const spans = [model.span, ...lanes.flatMap(({ spans }) => spans)];
  const from = Math.min(...spans.map((span) => span.from));
  return { from, to: Math.max(from + 1, ...spans.map(({ to }) => to ?? now)) };
}
