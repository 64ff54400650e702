/** A history of a family that is over, as its checkers read it. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { FamilyPlan } from "./family-agents.ts";

/** A row as it was stored, and when. */
export interface Stored {
  readonly step: number;
  readonly row: Row;
}

export interface FamilyHistory {
  readonly seed: string;
  readonly plan: FamilyPlan;
  readonly world: MemoryWorld;
  readonly root: string;
  readonly stored: readonly Stored[];
  /** How often the row of each run came into being. */
  readonly births: ReadonlyMap<string, number>;
  /** Effects outside, by idempotency key. */
  readonly effects: ReadonlyMap<string, number>;
  /** Rows that were removed after their end was delivered. */
  readonly removed: ReadonlySet<string>;
  readonly reached: ReadonlySet<string>;
  readonly isOver: boolean;
  readonly mistakes: readonly string[];
}
