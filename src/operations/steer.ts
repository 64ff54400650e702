/** Sends a message to the model of a run. */
import type { FileContent } from "../core/file.ts";
import { STOP_ID } from "../core/calls/next-message.ts";
import { SIZES } from "../codec/limits.ts";
import type { MessageBody } from "../core/event.ts";
import { type Row, hasEnded } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { type Delivered, deliver, senderOf } from "../engine/context/inbox.ts";
import { putFiles } from "../history/files.ts";
import { learnSecrets, redactionIn } from "../history/secrets.ts";
import { type FileInvalid, noRoomFor } from "./files.ts";

export type Sent =
  | { readonly kind: Delivered }
  | { readonly kind: "tooLarge"; readonly bytes: number }
  /** The run has no room for the files. */
  | FileInvalid;

interface Message {
  readonly text: string;
  readonly files?: readonly FileContent[];
  readonly by: string;
  readonly id: string;
  /** It ends the answer under way of a conversation. */
  readonly stop?: boolean;
}

/** Sends a text to the model. The same `id` twice is one message. `row`: the incarnation that the sender saw. */
export async function send(
  world: World,
  message: Message & { readonly run: string; readonly row?: Row },
): Promise<Sent> {
  const row = message.row ?? (await world.table.read(message.run, world.clock.now()));
  return row === null ? { kind: "missing" } : sendTo(world, row, message);
}

async function sendTo(world: World, row: Row, sent: Message): Promise<Sent> {
  const { run, born } = row;
  const { files = [] } = sent;
  const bytes = Buffer.byteLength(sent.text, "utf8");
  if (bytes > SIZES.messageBytesMax) return { kind: "tooLarge", bytes };
  const why = files.length === 0 || hasEnded(row) ? null : await noRoomFor(world, row, files);
  if (why !== null) return { kind: "fileInvalid", why };
  const said = { text: sent.text.toWellFormed(), by: senderOf(sent.by) };
  const body: MessageBody =
    files.length === 0 ? { kind: "user", ...said } : { kind: "userFiles", ...said, files: files.map(({ ref }) => ref) };
  await learnSecrets(world);
  // Schedule 167: the files are durable before the message that names them.
  if (!hasEnded(row)) await putFiles(world.objects, { run, born }, files);
  const message = {
    id: `${sent.stop === true ? STOP_ID : "user#"}${messageIdOf(world, sent.id)}`,
    sentAt: world.clock.now(),
    body,
  };
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
