/** Lists the calls that wait for a human: for a decision at a gate, or for an answer, over all runs of a tenant, page by page. */
import { Unreadable } from "../codec/canonical.ts";
import { sentenceOf } from "../codec/value.ts";
import type { Status } from "../core/phases.ts";
import type { ListedRow } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { type OpenGate, type Shown, showRow } from "./views.ts";
import type { OpenWait } from "./wait-views.ts";

/** An open gate with its run. */
export interface WaitingGate extends OpenGate, Pick<Shown, "run" | "agent" | "assigned"> {
  /** The page would be too large with the arguments: the document of the run has them. */
  readonly omitted?: readonly ["args"];
}

/** A question that no human has answered, with its run. */
export interface WaitingQuestion extends OpenWait, Pick<Shown, "run" | "agent" | "assigned"> {
  readonly omitted?: readonly ["args"];
}

/** `next`: the cursor of the next page; null if there is none. A page may have no gate and still have a next one. */
export interface WaitingPage {
  readonly kind: "listed";
  readonly gates: readonly WaitingGate[];
  readonly questions: readonly WaitingQuestion[];
  /** Runs that cannot be read. Whether they wait for a decision is not known. */
  readonly unreadable: readonly { readonly run: string; readonly why: string }[];
  readonly next: string | null;
}

/** Runs per page: each one that may wait is read in full. */
const PAGE = 100;

/**
 * The statuses in which a run may have an open gate. A gate may wait beside running or unknown calls, and in a paused
 * run.
 */
const MAY_WAIT: ReadonlySet<Status> = new Set(["running", "waiting", "blocked", "paused"]);

/** Throws `RowNewer` and `StoreUnreachable`. */
export async function listGates(
  world: World,
  of: {
    readonly tenant: string;
    /** A cursor of an earlier page; null: from the newest run. */
    readonly after: string | null;
    /** The most bytes of a page, except that it may have the gates of one run; null: no limit. */
    readonly bytesMax: number | null;
  },
): Promise<WaitingPage> {
  const { tenant, after, bytesMax } = of;
  const page = await world.table.list({ tenant, status: null, limit: PAGE, after, now: world.clock.now() });
  const gates: WaitingGate[] = [];
  const questions: WaitingQuestion[] = [];
  const unreadable = page.damaged.map(({ run, why }) => ({ run, why }));
  let leftBytes = bytesMax ?? Infinity;
  for (const [index, row] of page.rows.entries()) {
    const found = MAY_WAIT.has(row.status) ? await waitingOf(world, row) : NOTHING;
    if ("why" in found) {
      unreadable.push(found);
      continue;
    }
    const bytes = Buffer.byteLength(JSON.stringify(found));
    if (bytes > leftBytes && gates.length + questions.length > 0) {
      return { kind: "listed", gates, questions, unreadable, next: page.behind[index - 1] ?? null };
    }
    gates.push(...(bytes > leftBytes ? found.gates.map(withoutArgs) : found.gates));
    questions.push(...(bytes > leftBytes ? found.questions.map(withoutArgs) : found.questions));
    leftBytes -= bytes;
  }
  return { kind: "listed", gates, questions, unreadable, next: page.next };
}

type Waiting = Pick<WaitingPage, "gates" | "questions">;

const NOTHING: Waiting = { gates: [], questions: [] };

/** A list leaves out the commits since the last snapshot, so the row is read again with them. */
async function waitingOf(
  world: World,
  listed: ListedRow,
): Promise<Waiting | { readonly run: string; readonly why: string }> {
  try {
    const row = await world.table.read(listed.run, world.clock.now());
    const shown = row === null ? null : await showRow(world, row);
    if (shown === null) return NOTHING;
    const { run, agent, assigned, gates, waits } = shown;
    const questions = waits.filter((wait) => wait.for === "answer" && !wait.answered);
    return {
      gates: gates.flatMap((gate) => (gate.decided ? [] : [{ run, agent, assigned, ...gate }])),
      questions: questions.map((question) => ({ run, agent, assigned, ...question })),
    };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { run: listed.run, why: `${error.code}: ${sentenceOf(error)}` };
  }
}

const withoutArgs = <Each extends WaitingGate | WaitingQuestion>(of: Each): Each => ({
  ...of,
  args: null,
  omitted: ["args"],
});
