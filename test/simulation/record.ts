/**
 * What is seen of a history while it happens: every call of a port with its fault and its outcome, every row, and a
 * line for whatever else happens, all in one order. Checkers and witnesses read it; so does whoever debugs a seed.
 */
import type { Row } from "../../src/protocol/row.ts";
import type { TelemetryRecord, World } from "../../src/ports/world.ts";
import type { DecisionCalls } from "../../src/testing/decisions.ts";

type Port = "table" | "inbox" | "leases" | "records" | "objects" | "chain";
type Members<P extends Port> = { readonly [K in keyof World[P] & string as `${P}.${K}`]: World[P][K] };
/** Every operation of the ports that a run lives on. */
export type Operations = Omit<Members<"table">, "table.decide"> & {
  readonly [K in keyof DecisionCalls as `table.${K}`]: DecisionCalls[K];
} & Members<"inbox"> &
  Members<"leases"> &
  Members<"records"> &
  Members<"objects"> &
  Members<"chain">;
export type Operation = keyof Operations;

type Answer<O extends Operation> = Operations[O] extends (...of: never) => Promise<infer A> ? A : never;

export interface Call<O extends Operation = Operation> {
  readonly order: number;
  readonly step: number;
  /** By the true time. */
  readonly at: number;
  /** Who: `p3`, a process; `a2`, somebody outside. */
  readonly who: string;
  /** Which task of that process, counted over all of them; 0 for people. */
  readonly task: number;
  readonly operation: O;
  readonly of: Parameters<Operations[O]>;
  /** The order of the moment at which it was sent. */
  readonly sent: number;
  readonly fault: FaultKind | null;
  /** What the store said to it, whoever heard it; null where the store never got it. */
  readonly outcome: Answer<O> | null;
}

export const FAULT_KINDS = [
  "crash before",
  "crash after",
  "unavailable",
  "answer late",
  "answer lost",
  "not applied",
  "lands late",
  "throttled",
  "damaged",
  "missing",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number] | "landed";

/** Anything that is not a call of a port. */
interface Note {
  readonly order: number;
  readonly step: number;
  readonly at: number;
  readonly who: string;
  readonly text: string;
}

/** Something with its place in the history. */
export type Placed<T> = T & { readonly order: number };

export interface StoredRow {
  readonly order: number;
  /** By the true time. */
  readonly at: number;
  readonly row: Row;
}

export class Recorder {
  readonly calls: Call[] = [];
  readonly notes: Note[] = [];
  readonly rows: StoredRow[] = [];
  readonly keyless: Row[] = [];
  readonly telemetry: TelemetryRecord[] = [];
  /** Which faults met what, for the reach table. */
  readonly reached = new Set<string>();
  /** Of the scheduler. */
  step = 0;
  /** Invocations that asked for the end of their process. */
  exits = 0;
  /** Processes that died with a beat in their hands, as the chain heard. */
  deaths = 0;
  #order = 0;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The place of this moment among all that was recorded. */
  get order(): number {
    return this.#order;
  }

  /** The place of what is recorded next. */
  next(): number {
    this.#order += 1;
    return this.#order;
  }

  call(of: Omit<Call, "order" | "step" | "at">): void {
    this.calls.push({ order: this.next(), step: this.step, at: this.#now(), ...of });
  }

  note(who: string, text: string): void {
    this.notes.push({ order: this.next(), step: this.step, at: this.#now(), who, text });
  }

  /** An error that nobody expects: a checker must see it. */
  mistake(who: string, error: unknown): void {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.reached.add(`mistake ${words}`);
    this.note(who, `MISTAKE ${words}`);
  }

  row(row: Row, isKeyless: boolean): void {
    this.rows.push({ order: this.next(), at: this.#now(), row });
    if (isKeyless) this.keyless.push(row);
  }
}

/** The calls of one operation, with its own types. */
export function callsOf<O extends Operation>(calls: readonly Call[], operation: O): readonly Call<O>[] {
  return calls.filter((call): call is Call<O> => call.operation === operation);
}
