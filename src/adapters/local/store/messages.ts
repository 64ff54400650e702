/** The messages of runs in the embedded store, each with a checksum of its own. */
import type { DatabaseSync } from "node:sqlite";
import { Unreadable } from "../../../codec/canonical.ts";
import { decodeBody } from "../../../codec/row.ts";
import type { Delivery, InboxMessage } from "../../../ports/inbox.ts";
import type { Incarnation } from "../../../protocol/row.ts";
import { sumOf } from "./integrity.ts";

/**
 * `inbox` holds the messages that are not yet removed. `seen` keeps their IDs for as long as the run exists (schedule
 * 27).
 */
export function messagesOf(db: DatabaseSync) {
  const find = db.prepare("SELECT digest FROM seen WHERE run = ? AND born = ? AND id = ?");
  const see = db.prepare("INSERT INTO seen (run, born, id, digest) VALUES (?, ?, ?, ?)");
  const put = db.prepare("INSERT INTO inbox (run, born, id, sentAt, body, sum) VALUES (?, ?, ?, ?, ?, ?)");
  const select = db.prepare(
    "SELECT id, sentAt, body, sum FROM inbox WHERE run = ? AND born = ? ORDER BY sentAt, id LIMIT ?",
  );
  const clear = db.prepare("DELETE FROM inbox WHERE run = ? AND born = ? AND id = ?");
  const forgetInbox = db.prepare("DELETE FROM inbox WHERE run = ? AND born = ?");
  const forgetSeen = db.prepare("DELETE FROM seen WHERE run = ? AND born = ?");

  return {
    seen: ({ run, born }: Incarnation, id: string) =>
      (find.get(run, born, id) as { readonly digest: string | null } | undefined) ?? null,
    /** Takes the ID without a message. */
    see: ({ run, born }: Incarnation, id: string): void => {
      see.run(run, born, id, null);
    },
    add: ({ run, born, message, digest = null }: Delivery): void => {
      see.run(run, born, message.id, digest);
      const { id, sentAt } = message;
      const body = JSON.stringify(message.body);
      put.run(run, born, id, sentAt, body, sumOf({ id, sentAt, body }));
    },
    unread: ({ run, born }: Incarnation, limit: number): readonly InboxMessage[] => {
      return (select.all(run, born, limit) as unknown as readonly StoredMessage[]).map(messageIn);
    },
    clear: ({ run, born }: Incarnation, id: string): void => {
      clear.run(run, born, id);
    },
    forget: ({ run, born }: Incarnation): void => {
      forgetInbox.run(run, born);
      forgetSeen.run(run, born);
    },
  };
}

type StoredMessage = Omit<InboxMessage, "body"> & { readonly body: string; readonly sum: string };

function messageIn({ id, sentAt, body, sum }: StoredMessage): InboxMessage {
  const message = { id, sentAt, body: decodeBody(body, id) };
  if (sum === sumOf({ id, sentAt, body })) return message;
  throw new Unreadable(`message ${id} is damaged: it has other content than its checksum says`, "MessageDamaged");
}
