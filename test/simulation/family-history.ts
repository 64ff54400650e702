/** A history of a family that is over, as its checkers read it. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { State } from "../../src/core/state.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { type TimelineEntry, timeline } from "../../src/operations/views.ts";
import type { FamilyPlan } from "./family-plan.ts";
import type { FamilyService } from "./family-service.ts";

/** A row as it was stored, and when. */
export interface Stored {
  readonly step: number;
  readonly row: Row;
}

/** What the checkers need of a history. */
export interface FamilyRecord {
  readonly world: MemoryWorld;
  readonly root: string;
  readonly stored: readonly Stored[];
  /** How often the row of each run came into being. */
  readonly births: ReadonlyMap<string, number>;
  /** Rows that were removed after their end was delivered. */
  readonly removed: ReadonlySet<string>;
  readonly isOver: boolean;
  readonly mistakes: readonly string[];
  /** What the workers did outside; absent where it is not counted. */
  readonly service?: FamilyService;
}

export interface FamilyHistory extends FamilyRecord {
  readonly seed: string;
  readonly plan: FamilyPlan;
  readonly reached: ReadonlySet<string>;
  /** What happened, a line for each thing. */
  readonly lines: readonly string[];
}

/** Notes every row that the world stores, and how often the row of each run comes into being. */
export function recordRows(world: MemoryWorld, step: () => number): Pick<FamilyRecord, "births" | "stored"> {
  const stored: Stored[] = [];
  const births = new Map<string, number>();
  const { rows } = world.store;
  const set = rows.set.bind(rows);
  rows.set = (run, row) => {
    if (!rows.has(run)) births.set(run, (births.get(run) ?? 0) + 1);
    stored.push({ step: step(), row });
    return set(run, row);
  };
  return { births, stored };
}

/** One run of a history: its last row, its last state and everything that it recorded. */
export interface Told {
  readonly history: FamilyRecord;
  readonly row: Row;
  readonly state: State;
  readonly events: readonly TimelineEntry[];
  /** Its end did not wait for its children (C6). */
  readonly isForced: boolean;
}

/** Every run whose row is still there. */
export function told(history: FamilyRecord): Promise<readonly Told[]> {
  const { world } = history;
  return Promise.all(
    [...world.store.rows.values()].map(async (row) => {
      const events = (await timeline(world, { run: row.run, after: 0 })) ?? [];
      const { state } = await load(world, row, new SegmentCache());
      return { history, row, state, events, isForced: events.some(isForce) };
    }),
  );
}

const isForce = (event: TimelineEntry): boolean =>
  event.kind === "RecoveryDecided" &&
  (event.action.kind === "force" || (event.action.kind === "abort" && event.action.forced === true));

/** The row of that run as it was stored last, even if it was removed since. */
export const lastOf = ({ stored }: FamilyRecord, run: string): Row | undefined =>
  stored.findLast(({ row }) => row.run === run)?.row;

/** The place of the run's last end among all writes of rows; -1: it has not ended. An operator may redrive a run. */
export function endOf({ stored }: FamilyRecord, run: string): number {
  const worked = stored.findLastIndex(({ row }) => row.run === run && !hasEnded(row));
  return stored.findIndex(({ row }, at) => at > worked && row.run === run && hasEnded(row));
}

/** Every run below that one which reports to its parent. */
export function descendantsOf({ stored }: Pick<FamilyRecord, "stored">, run: string): readonly string[] {
  const parents = new Map(
    stored.flatMap(({ row }) => (row.parent === null ? [] : [[row.run, row.parent.run] as const])),
  );
  const isBelow = (each: string | undefined): boolean =>
    each !== undefined && (each === run || isBelow(parents.get(each)));
  return [...parents].flatMap(([child, parent]) => (isBelow(parent) ? [child] : []));
}

/** The children whose reports these events absorb, in order. */
export const reportedIn = (events: readonly TimelineEntry[]): readonly string[] =>
  events.flatMap((event) =>
    event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "child"
      ? [event.body.child]
      : [],
  );

/** The failures after which a child went on with its next try. */
export const triesIn = (events: readonly TimelineEntry[]) =>
  events.flatMap((event) =>
    event.kind === "RecoveryDecided" && event.action.kind === "tryAgain" ? [event.action] : [],
  );
