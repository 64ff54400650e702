/** An outage of a scenario: stores that answer no process for an hour, from the moment that one reaches its point. */
import { StoreUnreachable } from "../../../src/ports/world.ts";
import { isConditional } from "./actor.ts";
import { OUTAGE_MS, type Outage } from "./plan.ts";

const AMBIGUOUS: unknown = { kind: "ambiguous", why: "no answer" };

export class HourOutage {
  readonly #outage: Outage | undefined;
  readonly #now: () => number;
  /** Null: no process has reached its point yet. */
  #since: number | null = null;

  constructor(outage: Outage | undefined, now: () => number) {
    this.#outage = outage;
    this.#now = now;
  }

  /** Whether a process that reaches that point gets no answer there. */
  meets(point: string, at: number): boolean {
    const outage = this.#outage;
    if (outage === undefined || !/^(table|objects|chain)\./.test(point)) return false;
    if (at >= outage.at) this.#since ??= this.#now();
    const isOver = this.#since === null || this.#now() >= this.#since + OUTAGE_MS;
    return !isOver && (outage.store === "everything" || point.startsWith(outage.store));
  }

  async answer<T>(point: string, act: () => Promise<T>): Promise<Awaited<T>> {
    const { store = "", kind } = this.#outage ?? {};
    if (kind === "silence") return new Promise<never>(() => undefined);
    if (kind === "answers") await act();
    // Whether a conditional write was applied cannot be told.
    if (kind === "answers" && isConditional(point)) return AMBIGUOUS as Awaited<T>;
    throw new StoreUnreachable("the store does not answer", { store });
  }
}
