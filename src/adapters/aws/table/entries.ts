/**
 * Journal entries: the parts of a row's journal, each in an item of its own, so that a commit writes its own part and a
 * small row. An entry is put before the row names it, and in no transaction, which would cost twice as much.
 *
 * Entries are in slots. A row names the first `count` slots and the digest of their bytes. A commit fills the next slot.
 * After a snapshot the row names none, and the first slot is filled again. So a run never has more entries than its
 * longest journal had, and the clean-up of the incarnation removes them.
 *
 * A slot that a row names is never filled again while it is named: by the epoch that named it, because it goes on behind
 * it; by an older epoch, because each put is conditional on epoch and put number. An older epoch or an older put never
 * replaces a newer one.
 *
 * Schedule 151: a frozen process puts its entry after the next epoch put another one into the same slot.
 * Schedule 152: a put whose answer was lost lands after a later put of the same process into the same slot.
 * Schedule 153: a process dies after it put an entry and before the row names it.
 */
import { createHash } from "node:crypto";
import type { Incarnation, Row } from "../../../protocol/row.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo } from "./dynamo.ts";
import { all, either, fragment, number, textValue } from "./expression.ts";
import * as is from "./fragments.ts";
import { WRITE_UNIT_BYTES, bytesOf } from "./item-size.ts";
import { type EntryNames, type TableItem, itemOf, itemKey, rowItem } from "./item.ts";
import { journalItem } from "./keys.ts";

/** `slot`: of the entry that was put; null if none had to be. `outdated`: a later epoch has put into the slot. */
export type EntryPlaced =
  | { readonly kind: "placed"; readonly slot: number | null }
  | { readonly kind: "outdated" }
  | Ambiguous;

/** An entry that a row names is missing or damaged, or the row has moved on since it was read. */
export interface Unjoined {
  readonly why: string;
}

export class Entries {
  readonly #dynamo: Dynamo;
  /** Which entries hold a journal, by its bytes as this process read or committed them. */
  readonly #names = new WeakMap<Uint8Array, EntryNames>();
  #puts = 0;

  constructor(dynamo: Dynamo) {
    this.#dynamo = dynamo;
  }

  /** Null: the row itself holds its journal. */
  readonly namesOf = ({ journal }: Row): EntryNames | null =>
    journal === null ? null : (this.#names.get(journal) ?? null);

  /** Puts what `after` adds to the journal, unless the row has room for all of it. */
  async place(before: Row, after: Row, shards = 1): Promise<EntryPlaced> {
    const { journal } = after;
    if (journal === null || journal === before.journal) return { kind: "placed", slot: null };
    const named = this.namesOf(before);
    const known = named === null || before.journal === null ? NOTHING : before.journal;
    const isStoredInRow = named === null ? hasRoom(after, shards) : !beginsWith(journal, known);
    if (isStoredInRow) return { kind: "placed", slot: null };
    const part = journal.subarray(known.byteLength);
    const { count: slot, digest } = named ?? NO_ENTRIES;
    const placed = part.byteLength === 0 ? null : await this.#put(after, { slot, part });
    if (placed !== null && placed.kind !== "placed") return placed;
    this.#names.set(
      journal,
      part.byteLength === 0 && named !== null ? named : { count: slot + 1, digest: chained(digest, part) },
    );
    return placed ?? { kind: "placed", slot: null };
  }

  /** Reads the journal of a row from its entries. */
  async read(incarnation: Incarnation, names: EntryNames): Promise<Uint8Array | Unjoined> {
    const where = fragment("#run = :run AND #item BETWEEN :from AND :to", {
      ":run": textValue(incarnation.run),
      ":from": textValue(journalItem(incarnation, 0)),
      ":to": textValue(journalItem(incarnation, names.count - 1)),
    });
    const items = await this.#dynamo.query({ index: null, where, limit: names.count });
    const bySlot = new Map(items.map((item) => [item[ATTRIBUTES.item]?.S, item]));
    const parts: Uint8Array[] = [];
    let { digest } = NO_ENTRIES;
    for (let slot = 0; slot < names.count; slot += 1) {
      const item = bySlot.get(journalItem(incarnation, slot));
      const part = item?.[ATTRIBUTES.journal]?.B;
      const which = `entry ${slot + 1} of the ${names.count} that hold its journal (${journalItem(incarnation, slot)})`;
      if (item === undefined || part === undefined) return { why: `${which} is missing` };
      if (item[ATTRIBUTES.digest]?.S !== digestOf(part)) return { why: `${which} does not match its digest` };
      parts.push(part);
      digest = chained(digest, part);
    }
    if (digest !== names.digest) return { why: "the entries of its journal are not those that it names" };
    const journal = Buffer.concat(parts);
    this.#names.set(journal, names);
    return journal;
  }

  /** Removes the entry of a run that turned out to be removed: no clean-up comes any more. */
  remove(incarnation: Incarnation, slot: number): Promise<void> {
    return this.#dynamo.removeAll([itemKey(incarnation.run, journalItem(incarnation, slot))]);
  }

  async #put(row: Row, { slot, part }: { readonly slot: number; readonly part: Uint8Array }): Promise<EntryPlaced> {
    for (;;) {
      this.#puts += 1;
      const numbers = { epoch: number(row.epoch), put: number(this.#puts) };
      const item = {
        ...itemKey(row.run, journalItem(row, slot)),
        ...itemOf({ ...numbers, journal: { B: part }, digest: textValue(digestOf(part)) }),
      };
      const isLater = either(
        is.absent,
        is.epochBelow(row.epoch),
        all(is.epochIs(row.epoch), fragment("#put < :put", { ":put": numbers.put })),
      );
      const put = await this.#dynamo.put(item, isLater);
      if (put.kind === "ambiguous") return put;
      if (put.kind === "written") return { kind: "placed", slot };
      if (Number(put.item?.[ATTRIBUTES.epoch]?.N) !== row.epoch) return { kind: "outdated" };
      // Another world of this process counts its own puts.
      this.#puts = Math.max(this.#puts, numberIn(put.item));
    }
  }
}

const numberIn = (item: TableItem | null): number => Number(item?.[ATTRIBUTES.put]?.N ?? 0);

const NOTHING = new Uint8Array();
const NO_ENTRIES: EntryNames = { count: 0, digest: "" };

/** An entry costs a request and two writes, so the row keeps a journal with which it is charged this much at most. */
const ROW_UNITS_MAX = 2;

const hasRoom = (row: Row, shards: number): boolean =>
  unitsOf(rowItem(row, { shards })) <= Math.max(ROW_UNITS_MAX, unitsOf(rowItem({ ...row, journal: null }, { shards })));

const unitsOf = (item: TableItem): number => Math.ceil(bytesOf(item) / WRITE_UNIT_BYTES);

const beginsWith = (journal: Uint8Array, before: Uint8Array): boolean =>
  Buffer.compare(journal.subarray(0, before.byteLength), before) === 0;

/** 64 bits: random damage practically never produces a matching digest. */
const DIGEST_BYTES = 8;

const digestOf = (part: Uint8Array): string =>
  createHash("sha256").update(part).digest().subarray(0, DIGEST_BYTES).toString("base64url");

/** The digest of all entries up to this part. */
const chained = (before: string, part: Uint8Array): string => digestOf(Buffer.from(before + digestOf(part), "utf8"));
