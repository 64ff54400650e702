/** A history that is over, as checkers, witnesses and people read it. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { Tombstone } from "../../src/protocol/tombstone.ts";
import type { GateDecision } from "./gate-decisions.ts";
import type { Batch } from "./features/batch-provider.ts";
import type { FeatureLog } from "./features/log.ts";
import type { Plan } from "./modes.ts";
import type { Effect, Services } from "./services.ts";
import type { OperatorRequest, ReconcileAttempt } from "./operators.ts";
import type { Placed, Recorder, StoredRow } from "./record.ts";
import type { Sim } from "./sim.ts";

/** What can be said of any history of one run, also of one that was not drawn from a seed. */
export interface History {
  readonly world: MemoryWorld;
  readonly run: string;
  /** Every row that was ever stored, in order. */
  readonly rows: readonly Row[];
  /** Those that could go from the moment on at which they were stored, while no tombstone outlived them. */
  readonly keyless: readonly Row[];
  readonly outside: { readonly effects: readonly Effect[] };
  /** What a person answered, and what was made of it. */
  readonly answers: readonly ReconcileAttempt[];
  /** What was asked of the run from outside, and what was made of it. */
  readonly steered: readonly OperatorRequest[];
  readonly steps: number;
  /** Which faults met which calls, and what nobody expected. */
  readonly reached: ReadonlySet<string>;
}

interface Moment {
  readonly step: number;
  /** By the true time. */
  readonly at: number;
}

export interface Simulated extends History {
  readonly seed: string;
  readonly plan: Plan;
  readonly outside: Pick<Services, "effects" | "begun" | "probed">;
  /** Model calls that were paid for. */
  readonly paid: number;
  /** Model calls that whoever made them gave up, and nobody charged for. */
  readonly givenUp: number;
  readonly answers: readonly Placed<ReconcileAttempt>[];
  readonly decisions: readonly GateDecision[];
  readonly features: FeatureLog;
  /** The model batches that their provider has, or had. */
  readonly batches: readonly Batch[];
  readonly record: Recorder;
  /** The rows with their places in the history. */
  readonly stored: readonly StoredRow[];
  readonly faults: number;
  /** From when on nothing more was done to the run; null where it was over before. */
  readonly calm: Moment | null;
  /** When the run was over; null: it never was. */
  readonly ended: Moment | null;
}

export function historyOf(sim: Sim, of: Pick<Simulated, "seed" | "calm" | "ended">): Simulated {
  const { world, outside, record, plan, answers, steered, spent: faults } = sim;
  const run = [...world.store.rows.keys()][0] ?? "";
  const rows = record.rows.map(({ row }) => row);
  const seen = {
    world,
    run,
    rows,
    keyless: record.keyless,
    outside: outside.services,
    answers,
    steered,
    steps: record.step,
    reached: record.reached,
  };
  const [paid, givenUp] = [outside.paid(), outside.givenUp()];
  return {
    ...of,
    ...seen,
    plan,
    record,
    stored: record.rows,
    faults,
    decisions: sim.decisions,
    features: sim.features,
    batches: outside.batches,
    paid,
    givenUp,
  };
}

/** Tells of every row as it is stored, and whether its key is kept, by wrapping the map that holds them. */
export function watchRows({ store }: MemoryWorld, tell: (row: Row, isKeyless: boolean) => void): void {
  const set = store.rows.set.bind(store.rows);
  store.rows.set = (run, row) => {
    if (store.rows.get(run) !== row) tell(row, isKeyless(row, store.tombstones.get(run) ?? null));
    return set(run, row);
  };
}

const isKeyless = ({ born, expiresAtSec }: Row, tombstone: Tombstone | null): boolean =>
  expiresAtSec !== null && (tombstone?.born !== born || tombstone.expiresAtSec < expiresAtSec);
