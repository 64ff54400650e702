/**
 * Messages of a run. Each has an inbox item until a commit absorbed it. Each also has a `seen` item for as long as the
 * run exists, so that a sender's late retry stays a duplicate (schedule 27). Inbox keys sort by time of sending, then
 * by ID.
 */
import { isRunId } from "../../../core/ids.ts";
import { decodeBody, presentIn } from "../../../codec/row.ts";
import { type Incarnation, type RunRef, type Row, hasEnded } from "../../../protocol/row.ts";
import { repetition } from "../../../protocol/repetition.ts";
import type { DeliverOutcome, Delivery, Inbox, InboxMessage } from "../../../ports/inbox.ts";
import type { Ambiguous } from "../../../ports/run-table.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Dynamo, TransactionPart } from "./dynamo.ts";
import * as is from "./fragments.ts";
import { type Fragment, fragment, number, textValue } from "./expression.ts";
import { type TableItem, itemOf, itemKey } from "./item.ts";
import { rowInItem } from "./item-reader.ts";
import { ROW_ITEM, inboxItem, itemsOf, seenItem } from "./keys.ts";
import { wakeWrite } from "./row-writes.ts";
import { WRITES_MAX, changedTooOften } from "./rows.ts";

export const dynamoInbox = (dynamo: Dynamo): Inbox => ({
  deliver: (delivery) => deliver(dynamo, delivery),
  unread: (query) => unread(dynamo, query),
  clear: (read) => clear(dynamo, read),
  forget: (incarnation) => forget(dynamo, incarnation),
});

/**
 * Delivers a message. Schedule 10: a sender dies between the message and the wake-up, and its retry is only a
 * duplicate; so both are one transaction. If the transaction is sent again after a lost response, it finds its own
 * `seen` item.
 */
async function deliver(dynamo: Dynamo, delivery: Delivery): Promise<DeliverOutcome> {
  const { run } = delivery;
  if (!isRunId(run)) return { kind: "missing" };
  let assumed: Row | null = null;
  // A deadline moves once or twice at most.
  for (let writes = 0; writes < WRITES_MAX; writes += 1) {
    const outcome = await dynamo.transact(partsOf(delivery, assumed));
    if (outcome.kind === "ambiguous") return outcome;
    if (outcome.kind === "written") return withRow(dynamo, delivery, "delivered");
    const [seen, refused] = outcome.items;
    // The row may not have refused its part, and then no item came back for it.
    if (seen !== undefined) {
      const kept = seen?.[ATTRIBUTES.digest]?.S ?? null;
      return withRow(dynamo, delivery, repetition(kept, delivery.digest ?? null));
    }
    const row = presentIn(refused == null ? null : rowInItem(refused), delivery);
    if ("kind" in row) return row;
    if (hasEnded(row)) return { kind: "late", row };
    assumed = row;
  }
  return changedTooOften(run, "a message was delivered");
}

function partsOf(delivery: Delivery, assumed: Row | null): readonly TransactionPart[] {
  const { run, message, digest = null } = delivery;
  const { id, sentAt, body } = message;
  return [
    {
      kind: "put",
      item: {
        ...itemKey(run, seenItem(delivery, id)),
        ...itemOf({ sentAt: number(sentAt), ...(digest === null ? {} : { digest: textValue(digest) }) }),
      },
      condition: is.absent,
    },
    { kind: "update", key: itemKey(run, ROW_ITEM), ...wakeWrite(delivery, assumed) },
    {
      kind: "put",
      item: {
        ...itemKey(run, inboxItem(delivery, message)),
        ...itemOf({ id: textValue(id), sentAt: number(sentAt), body: textValue(JSON.stringify(body)) }),
      },
      condition: null,
    },
  ];
}

/** A transaction returns no row, so the row is read afterwards. */
async function withRow(
  dynamo: Dynamo,
  delivery: Delivery,
  kind: "delivered" | "duplicate" | "conflict",
): Promise<Exclude<DeliverOutcome, Ambiguous>> {
  const item = await dynamo.get(itemKey(delivery.run, ROW_ITEM));
  const row = presentIn(item === null ? null : rowInItem(item), delivery);
  return "kind" in row ? row : { kind, row };
}

/** Reads the inbox with strong consistency. Its keys contain `born`, so it holds nothing of another incarnation. */
async function unread(dynamo: Dynamo, query: RunRef & { readonly limit: number }): Promise<readonly InboxMessage[]> {
  if (!isRunId(query.run) || query.limit < 1) return [];
  return (await dynamo.query({ index: null, where: below(query, "inbox"), limit: query.limit })).map(messageOf);
}

const below = (incarnation: Incarnation, kind: Parameters<typeof itemsOf>[0]): Fragment =>
  fragment("#run = :run AND begins_with(#item, :items)", {
    ":run": textValue(incarnation.run),
    ":items": textValue(itemsOf(kind, incarnation)),
  });

function messageOf(item: TableItem): InboxMessage {
  const id = item[ATTRIBUTES.id]?.S ?? "";
  const sentAt = Number(item[ATTRIBUTES.sentAt]?.N);
  return { id, sentAt, body: decodeBody(item[ATTRIBUTES.body]?.S ?? "", id) };
}

/** Removes all items of an incarnation but its row. Other incarnations have other keys (schedule 19). */
async function forget(dynamo: Dynamo, incarnation: Incarnation): Promise<void> {
  if (!isRunId(incarnation.run)) return;
  for (const kind of ["inbox", "seen", "audit", "journal"] as const) {
    for (;;) {
      const found = await dynamo.query({ index: null, where: below(incarnation, kind), limit: FORGOTTEN_AT_ONCE });
      if (found.length === 0) break;
      await dynamo.removeAll(found.map((item) => itemKey(incarnation.run, item[ATTRIBUTES.item]?.S ?? "")));
    }
  }
}

const FORGOTTEN_AT_ONCE = 100;

/** Removes inbox items. Their keys contain the time of sending, which the `seen` item of the ID holds. */
async function clear(dynamo: Dynamo, read: RunRef & { readonly ids: readonly string[] }): Promise<void> {
  const ids = [...new Set(read.ids)];
  if (!isRunId(read.run) || ids.length === 0) return;
  const idOf = new Map(ids.map((id) => [seenItem(read, id), id]));
  const seen = await dynamo.getAll(
    [...idOf.keys()].map((item) => itemKey(read.run, item)),
    null,
  );
  await dynamo.removeAll(
    seen.map((item) => {
      const id = idOf.get(item[ATTRIBUTES.item]?.S ?? "") ?? "";
      return itemKey(read.run, inboxItem(read, { id, sentAt: Number(item[ATTRIBUTES.sentAt]?.N) }));
    }),
  );
}
