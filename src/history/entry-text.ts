/** The JSON of events. Readers of the same part of a history get the same objects, so each is encoded once for all. */
import type { CommittedEvent } from "../ports/reading.ts";

const texts = new WeakMap<CommittedEvent, string>();

export function textOfEntry(entry: CommittedEvent): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const text = JSON.stringify(entry);
  texts.set(entry, text);
  return text;
}
