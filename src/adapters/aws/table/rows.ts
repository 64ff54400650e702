/**
 * Compare-and-swap on run rows. An operation takes the last row that this process saw, or reads the stored one. It
 * decides on that row, and writes the difference if the stored row is still the same (`row-writes.ts`). A refusal
 * returns the stored row, and the operation decides again. So of fifty concurrent claims one wins (schedule 1).
 */
import { ensure } from "../../../core/ensure.ts";
import { isRunId } from "../../../core/ids.ts";
import { type Found, RowDamaged, RowUnreadable, faultIn, presentIn, undamaged } from "../../../codec/row.ts";
import {
  type RunRef,
  type Refused,
  type Request,
  type RequestOutcome,
  type Row,
  decideRequest,
} from "../../../protocol/row.ts";
import { type DecisionOutcome, type RowDecision, rowToWrite } from "../../../protocol/row-decision.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo, ItemWritten } from "./dynamo.ts";
import { Entries } from "./entries.ts";
import { type TableItem, entryNamesOf, itemKey } from "./item.ts";
import { rowInItem } from "./item-reader.ts";
import { ROW_ITEM } from "./keys.ts";
import { type LaneDependence, requestWrite, swapWrite, unchanged } from "./row-writes.ts";
import type { StatusShards } from "./status-shards.ts";

/** If the row changed before every one of these writes, the caller sends the operation again later. */
export const WRITES_MAX = 4;
const REMEMBERED_MAX = 64;
const READS_MAX = 8;

/** The two rows are from the same commit. */
const hasSameJournal = (known: Row | undefined, row: Row): boolean =>
  known?.born === row.born && known.version === row.version && known.commitId === row.commitId;

export class Rows {
  readonly #dynamo: Dynamo;
  /** The last row of each run that this process saw, so that a beat's commits need one request each. */
  readonly #remembered = new Map<string, Row>();
  readonly #entries: Entries;
  readonly #shards: StatusShards;

  constructor(dynamo: Dynamo, shards: StatusShards) {
    this.#dynamo = dynamo;
    this.#shards = shards;
    this.#entries = new Entries(dynamo);
  }

  /** Applies a decision to the stored row. */
  decide<Asked extends RunRef, Outcome extends DecisionOutcome>(
    asked: Asked,
    { decision, reads, replaces }: RowDecision<Asked, Outcome>,
  ): Promise<Outcome | Refused | Ambiguous> {
    const lane = { reads: reads?.(asked) ?? [], replaces: replaces?.(asked) ?? [] };
    return this.#settle(
      asked,
      (row) => decision(row, asked),
      (before, outcome) => {
        if (outcome.removes === true) return this.remove(before);
        const row = rowToWrite(before, outcome, lane.replaces);
        return row === null ? null : this.#swap(before, row, lane);
      },
    );
  }

  /** Puts the entry that the row will name, and then writes the row. */
  async #swap(before: Row, after: Row, lane: LaneDependence): Promise<ItemWritten> {
    const shards = await this.#shards.write();
    const placed = await this.#entries.place(before, after, shards);
    if (placed.kind === "ambiguous") return placed;
    const key = itemKey(before.run, ROW_ITEM);
    if (placed.kind === "outdated") return { kind: "refused", item: await this.#dynamo.get(key) };
    const written = await this.#dynamo.update(
      key,
      swapWrite(before, after, lane, { entriesOf: this.#entries.namesOf, shards }),
    );
    const isRemoved = written.kind === "refused" && written.item?.[ATTRIBUTES.born]?.S !== before.born;
    if (isRemoved && placed.slot !== null) await this.#entries.remove(before, placed.slot);
    return written;
  }

  /** Removes the row, if it is still the same. */
  remove(row: Row): Promise<ItemWritten> {
    return this.#dynamo.remove(itemKey(row.run, ROW_ITEM), unchanged(row));
  }

  /** A request applies to any row that has not ended, so it is written without a read. */
  async request(request: Request): Promise<RequestOutcome | Ambiguous> {
    if (!isRunId(request.run)) return { kind: "missing" };
    for (let writes = 0; writes < WRITES_MAX; writes += 1) {
      const written = await this.#dynamo.update(itemKey(request.run, ROW_ITEM), requestWrite(request));
      if (written.kind === "ambiguous") return written;
      const row = presentIn(await this.found(written.item), request);
      if ("kind" in row) return row;
      if (written.kind === "written") return { kind: "requested", row };
      const outcome = decideRequest(row, request);
      if (outcome.kind !== "requested") return outcome;
    }
    return changedTooOften(request.run, "it was written");
  }

  /** The stored row. */
  async read(run: string): Promise<Row | null> {
    return isRunId(run) ? undamaged(await this.#stored(run)) : null;
  }

  /** `row` is stored, as far as this process knows. */
  remember(row: Row): Row {
    this.#remembered.delete(row.run);
    this.#remembered.set(row.run, row);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > REMEMBERED_MAX && oldest !== undefined) this.#remembered.delete(oldest);
    return row;
  }

  /**
   * Decides until a write lands or there is nothing to write. `send` writes what was decided; null: nothing.
   *
   * Schedule 112: a process remembers a row that another process has changed since. If it decides to write, its write is
   * refused. If it decides to refuse, no write would tell, so it decides again on the stored row.
   */
  async #settle<O extends { readonly kind: string }>(
    ref: RunRef,
    decide: (row: Row) => O,
    send: (before: Row, decision: O) => Promise<ItemWritten> | null,
  ): Promise<O | Refused | Ambiguous> {
    if (!isRunId(ref.run)) return { kind: "missing" };
    const remembered = this.#remembered.get(ref.run);
    let isStored = remembered === undefined;
    let row = remembered ?? (await this.#stored(ref.run));
    for (let writes = 0; writes < WRITES_MAX;) {
      const before = presentIn(row, ref);
      const decision = "kind" in before ? before : decide(before);
      const sent = "kind" in before ? null : send(before, decision as O);
      if (sent === null) {
        if (isStored) return decision;
        row = await this.#stored(ref.run);
      } else {
        const written = await sent;
        if (written.kind === "ambiguous") return written;
        row = await this.found(written.item, (decision as O & { readonly row?: Row }).row);
        // The write may have succeeded although the row is damaged: its condition does not name every attribute.
        if (row instanceof RowUnreadable) return row.refused;
        if (written.kind === "written") {
          ensure(row !== null, `a write of ${ref.run} returned no row`);
          return { ...(decision as O), row };
        }
        writes += 1;
      }
      isStored = true;
    }
    return changedTooOften(ref.run, "it was written");
  }

  async #stored(run: string): Promise<Found | null> {
    return this.found(await this.#dynamo.get(itemKey(run, ROW_ITEM)));
  }

  /**
   * The row in an item, with its journal. `written`: the row as this process wrote it.
   *
   * Schedule 154: a snapshot replaces the journal between the read of the row and that of its entries, and other entries
   * are in their slots. So the row is read again: only a row that still names them is damaged.
   */
  async found(item: TableItem | null, written?: Row): Promise<Found | null> {
    let stored = item;
    for (let reads = 0; reads < READS_MAX; reads += 1) {
      const row = stored === null ? null : rowInItem(stored);
      if (stored === null || row === null || row instanceof RowUnreadable) return row;
      const names = entryNamesOf(stored);
      if (names === null) return this.remember(row);
      const known = [written, this.#remembered.get(row.run)].find((each) => hasSameJournal(each, row))?.journal;
      const journal = known ?? (await this.#entries.read(row, names));
      if (journal instanceof Uint8Array) {
        const joined = { ...row, journal };
        return faultIn(joined) ?? this.remember(joined);
      }
      const again = await this.#dynamo.get(itemKey(row.run, ROW_ITEM));
      const { digest } = (again === null ? null : entryNamesOf(again)) ?? { digest: null };
      if (again?.[ATTRIBUTES.born]?.S === row.born && digest === names.digest) {
        return new RowDamaged(row.run, journal.why);
      }
      stored = again;
    }
    const run = item?.[ATTRIBUTES.run]?.S ?? "";
    throw new StoreUnreachable(`run ${run} changed ${READS_MAX} times while it was read; try again`);
  }
}

/** `during`: what was going on meanwhile, as the end of a sentence. */
export const changedTooOften = (run: string, during: string): Ambiguous => ({
  kind: "ambiguous",
  why: `run ${run} changed ${WRITES_MAX} times while ${during}`,
});
