/**
 * The resume token: it stands for the state in which a client saw a run. It is opaque to clients, and serves as an
 * entity tag.
 *
 * The token contains everything that can change the document of a run. Version and epoch alone are not enough: an
 * expired lease makes the run resumable, and a decision waits in the inbox, but neither writes a version. With such a
 * token, a polling client would be told that nothing changed, and would wait for ever. As a precondition (`If-Match`)
 * only its epoch counts.
 */
import type { Row } from "../protocol/row.ts";
import { isResumable } from "../operations/summary.ts";

/** The token of a run at the time `now`, epoch milliseconds. */
export function resumeToken(row: Row, now: number): string {
  const { run, born, epoch, version, wakeCount } = row;
  const told = [run, born, epoch, version, wakeCount, isResumable(row, now)];
  return Buffer.from(JSON.stringify(told)).toString("base64url");
}

/** The token as an entity tag, for the `ETag` header. */
export const entityTag = (token: string): string => `"${token}"`;

/** Whether a tag of an `If-None-Match` header equals the token. */
export const isUnchanged = (header: string, token: string): boolean =>
  tagsIn(header).some((tag) => tag === "*" || tag === token);

/** Whether a tag of an `If-Match` header saw the run under its present epoch. */
export function isOfEpoch(header: string, { run, born, epoch }: Row): boolean {
  return tagsIn(header).some((tag) => {
    const seen = seenIn(tag);
    return tag === "*" || [run, born, epoch].every((each, index) => seen[index] === each);
  });
}

/** Splits a header into entity tags, or bare tokens. A token contains no comma and no quote. */
const tagsIn = (header: string): readonly string[] =>
  header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/s, "$1"));

/** Decodes a token: the run, its incarnation, the epoch and so on; empty if it is not a token. */
function seenIn(token: string): readonly unknown[] {
  try {
    const told: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    return Array.isArray(told) ? told : [];
  } catch {
    return [];
  }
}
