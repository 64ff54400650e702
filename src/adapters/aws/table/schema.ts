/**
 * The layout of the table and of its stream, for the infrastructure that creates them, and the parser of stream
 * records.
 */
import type { Incarnation } from "../../../protocol/row.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { ROW_ITEM } from "./keys.ts";

/** One partition per run: the item `row`, and beside it inbox, seen and audit items. */
export const TABLE = {
  keys: { partition: ATTRIBUTES.run, sort: ATTRIBUTES.item },
  /** Seconds since 1970. Only rows of runs whose end has been delivered have it, and tombstones. */
  timeToLive: ATTRIBUTES.expiresAtSec,
  /** This stream reports removed rows. Its filter is exactly REMOVE and this sort key. */
  stream: { view: "OLD_IMAGE", item: ROW_ITEM },
  indexes: [
    {
      /** Runs of a tenant in one status, by the time of their last change of status. */
      name: "byStatus",
      partition: { name: ATTRIBUTES.tenantStatus, type: "S" },
      sort: { name: ATTRIBUTES.since, type: "S" },
      projected: [ATTRIBUTES.agent],
    },
    {
      /**
       * Runs that have not ended or whose end has not been delivered, in shards. It is sparse: the sweeper reads all of
       * it once an hour.
       */
      name: "alive",
      partition: { name: ATTRIBUTES.alive, type: "N" },
      sort: { name: ATTRIBUTES.run, type: "S" },
      projected: [],
    },
    {
      /** The same runs in the same shards, by the time from which a sweep has to judge them. */
      name: "due",
      partition: { name: ATTRIBUTES.alive, type: "N" },
      sort: { name: ATTRIBUTES.due, type: "S" },
      projected: [],
    },
  ],
} as const;

/** A text in a stream record. */
interface Text {
  readonly S?: string | undefined;
}

/** The incarnation whose row was removed, from the item's old image; null for an item that was no row. */
export function removedIncarnation(image: Readonly<Record<string, Text>>): Incarnation | null {
  const [run, item, born] = [image[ATTRIBUTES.run]?.S, image[ATTRIBUTES.item]?.S, image[ATTRIBUTES.born]?.S];
  return item === ROW_ITEM && run !== undefined && born !== undefined ? { run, born } : null;
}
