/**
 * Lists the calls that wait for a human: for a decision at a gate, for an answer, or for a reconciliation of an unknown
 * outcome, over all runs of a tenant, page by page.
 */
import { Unreadable } from "../codec/canonical.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Status } from "../core/phases.ts";
import type { ListedRow } from "../protocol/row.ts";
import { mayAsk } from "../protocol/row-brief.ts";
import type { World } from "../ports/world.ts";
import { type ShownRestored, namesOf, shownRestored } from "./summary.ts";
import { type OpenGate, type Shown, type UnknownCall, showRow } from "./views.ts";
import type { OpenWait } from "./wait-views.ts";

/** An open gate with its run. */
export interface WaitingGate extends OpenGate, Pick<Shown, "run" | "agent" | "title" | "startKey" | "assigned"> {
  /** The page would be too large with the arguments: the document of the run has them. */
  readonly omitted?: readonly ["args"];
}

/** A question that no human has answered, with its run. */
export interface WaitingQuestion extends OpenWait, Pick<Shown, "run" | "agent" | "title" | "startKey" | "assigned"> {
  readonly omitted?: readonly ["args"];
}

/**
 * A call whose outcome an operator has to reconcile, with its run. Of a hand-off the run is the parent, which is blocked
 * and reconciled, whatever its child did.
 */
export interface WaitingUnknown extends UnknownCall, Pick<Shown, "run" | "agent" | "title" | "startKey" | "assigned"> {
  readonly omitted?: readonly ["args"];
}

/** A run whose store was restored: an operator has to check what it may have done in the lost time. */
export interface RestoredRun extends ShownRestored, Pick<Shown, "run" | "agent" | "title" | "startKey"> {}

/** `next`: the cursor of the next page; null if there is none. A page may have no gate and still have a next one. */
export interface WaitingPage {
  readonly kind: "listed";
  readonly gates: readonly WaitingGate[];
  readonly questions: readonly WaitingQuestion[];
  readonly unknown: readonly WaitingUnknown[];
  readonly restored: readonly RestoredRun[];
  /** Runs that cannot be read. Whether they wait for a decision is not known. */
  readonly unreadable: readonly { readonly run: string; readonly why: string }[];
  readonly next: string | null;
}

/** Runs per page: each one that may ask a human is read in full. */
const PAGE = 100;

/**
 * The statuses in which a run may have an open gate, in the order in which they are listed. A gate may wait beside
 * running or unknown calls, and in a paused run. Runs of the other statuses are not looked at: a store may have
 * thousands that have ended.
 */
const MAY_WAIT = ["blocked", "paused", "waiting", "running"] as const satisfies readonly Status[];

const ASKING = { asking: true } as const;

/** Where a page begins: behind a cursor of the list of one status; null: at its first run. */
interface Place {
  readonly status: (typeof MAY_WAIT)[number];
  readonly after: string | null;
}

/** Throws `RowNewer` and `StoreUnreachable`. */
export async function listGates(
  world: World,
  wanted: {
    readonly tenant: string;
    /** A cursor of an earlier page; null: from the first run. */
    readonly after: string | null;
    /** The most bytes of a page, except that it may have the gates of one run; null: no limit. */
    readonly bytesMax: number | null;
  },
): Promise<WaitingPage> {
  const gates: WaitingGate[] = [];
  const questions: WaitingQuestion[] = [];
  const unknown: WaitingUnknown[] = [];
  const restored: RestoredRun[] = [];
  const unreadable: { readonly run: string; readonly why: string }[] = [];
  const pageUntil = (place: Place | null): WaitingPage => ({
    kind: "listed",
    gates,
    questions,
    unknown,
    restored,
    unreadable,
    next: place === null ? null : cursorOf(place),
  });
  /** A run may move to another status meanwhile. */
  const seen = new Set<string>();
  let leftBytes = wanted.bytesMax ?? Infinity;
  let place: Place | null = placeOf(wanted.after);
  for (let leftRuns = PAGE; place !== null && leftRuns > 0;) {
    const { status, after }: Place = place;
    const now = world.clock.now();
    const page = await world.table.list({ tenant: wanted.tenant, status, limit: leftRuns, after, now, only: ASKING });
    for (const { run, why } of page.damaged) if (!seen.has(run)) unreadable.push({ run, why });
    for (const { run } of page.damaged) seen.add(run);
    for (const [index, row] of page.rows.entries()) {
      const found = seen.has(row.run) || !mayAsk(row) ? NOTHING : await waitingOf(world, row);
      if ("why" in found) {
        unreadable.push(found);
        continue;
      }
      const bytes = Buffer.byteLength(JSON.stringify(found));
      if (bytes > leftBytes && gates.length + questions.length + unknown.length > 0) {
        return pageUntil({ status, after: index === 0 ? after : (page.behind[index - 1] ?? after) });
      }
      gates.push(...(bytes > leftBytes ? found.gates.map(withoutParsed) : found.gates));
      questions.push(...(bytes > leftBytes ? found.questions.map(withoutArgs) : found.questions));
      unknown.push(...(bytes > leftBytes ? found.unknown.map(withoutArgs) : found.unknown));
      const mark = seen.has(row.run) ? null : shownRestored(row);
      if (mark !== null) restored.push({ ...namesOf(row), ...mark });
      leftBytes -= bytes;
      seen.add(row.run);
    }
    leftRuns -= page.rows.length + page.damaged.length;
    place = page.next === null ? firstAfter(status) : { status, after: page.next };
  }
  return pageUntil(place);
}

const firstAfter = (status: Place["status"]): Place | null => {
  const next = MAY_WAIT[MAY_WAIT.indexOf(status) + 1];
  return next === undefined ? null : { status: next, after: null };
};

const cursorOf = ({ status, after }: Place): string => `${status}.${after ?? ""}`;

/** A cursor without a status is not from this list: the list begins anew, and misses no run. */
function placeOf(cursor: string | null): Place {
  const [, named, after = ""] = /^([a-z]+)\.(.*)$/s.exec(cursor ?? "") ?? [];
  const status = MAY_WAIT.find((each) => each === named);
  return status === undefined ? { status: MAY_WAIT[0], after: null } : { status, after: after === "" ? null : after };
}

type Waiting = Pick<WaitingPage, "gates" | "questions" | "unknown">;

const NOTHING: Waiting = { gates: [], questions: [], unknown: [] };

/** A list leaves out the commits since the last snapshot, so the row is read again with them. */
async function waitingOf(
  world: World,
  listed: ListedRow,
): Promise<Waiting | { readonly run: string; readonly why: string }> {
  try {
    const row = await world.table.read(listed.run, world.clock.now());
    const shown = row === null ? null : await showRow(world, row);
    if (shown === null) return NOTHING;
    const { assigned, gates, waits, unknown } = shown;
    const names = { ...namesOf(listed), assigned };
    const withRun = <T extends object>(shownPart: T): typeof names & T => ({ ...names, ...shownPart });
    return {
      gates: gates.filter(({ decided }) => !decided).map(withRun),
      questions: waits.filter((wait) => wait.for === "answer" && !wait.answered).map(withRun),
      unknown: unknown.filter(({ answered }) => !answered).map(withRun),
    };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { run: listed.run, why: `${error.code}: ${sentenceOf(error)}` };
  }
}

const withoutParsed = (gate: WaitingGate): WaitingGate => ({ ...withoutArgs(gate), parsed: null });

const withoutArgs = <Each extends WaitingGate | WaitingQuestion | WaitingUnknown>(item: Each): Each => ({
  ...item,
  args: null,
  omitted: ["args"],
});
