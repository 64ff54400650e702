/**
 * The digest of a part of a transcript: that of the digests of its messages. A long run is compacted again and again, each time
 * with all that came before, so a process makes each message canonical once.
 */
import { canonical, sha256 } from "../../codec/canonical.ts";
import type { Message } from "../../core/message.ts";

/** Messages never change, and a process keeps those of a run between its beats. */
const digests = new WeakMap<Message, string>();

function digestOfMessage(message: Message): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const digest = sha256(canonical(message));
  digests.set(message, digest);
  return digest;
}

/** The digest of these messages, in their order. */
export const digestOfTranscript = (messages: readonly Message[]): string =>
  sha256(messages.map(digestOfMessage).join(""));
