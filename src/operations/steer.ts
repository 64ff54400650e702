/** Sends a message to the model of a run. */
import { SIZES } from "../codec/limits.ts";
import type { Incarnation, Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { type Delivered, deliver, senderOf } from "../engine/context/inbox.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";

export type Sent = { readonly kind: Delivered } | { readonly kind: "tooLarge"; readonly bytes: number };

/** Sends a text to the model. The same `id` twice is one message. `row`: the incarnation that the sender saw. */
export async function send(
  world: World,
  of: { readonly run: string; readonly text: string; readonly by: string; readonly id: string; readonly row?: Row },
): Promise<Sent> {
  const row = of.row ?? (await world.table.read(of.run, world.clock.now()));
  return row === null ? { kind: "missing" } : sendTo(world, row, of);
}

async function sendTo(
  world: World,
  { run, born }: Incarnation,
  of: { readonly text: string; readonly by: string; readonly id: string },
): Promise<Sent> {
  const bytes = Buffer.byteLength(of.text, "utf8");
  if (bytes > SIZES.messageBytesMax) return { kind: "tooLarge", bytes };
  const by = senderOf(of.by);
  const body = { kind: "user", text: of.text.toWellFormed(), by } as const;
  await learnSecrets(world);
  const message = { id: `user#${messageIdOf(world, of.id)}`, sentAt: world.clock.now(), body };
  return { kind: await deliver(world, { run, born, message }) };
}

/**
 * The message ID as the run stores it. An ID that the run cannot store would be acknowledged and then block every
 * commit. A long ID fills the state. Such an ID is hashed. So is one with a secret: redaction could make different IDs
 * equal.
 */
export function messageIdOf(world: World, id: string): string {
  const isPlain = id.isWellFormed() && id.length <= SIZES.nameCharactersMax && redactionIn(world).text(id) === id;
  return isPlain ? id : world.hash(JSON.stringify(id));
}
