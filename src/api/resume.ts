/**
 * The resume token: where a run was when somebody looked at it. Opaque to whoever holds it, and an entity tag as it is.
 *
 * It holds all that the document of a run can change by. Version and epoch alone do not do: a lease lapses and makes the
 * run resumable, a decision lies in the inbox and nobody is to be asked twice, and neither writes a version. A reader
 * who is told that nothing changed would wait for ever for what has happened. As a precondition only its epoch counts.
 */
import type { Row } from "../protocol/row.ts";
import { summaryOf } from "../operations/views.ts";

export function resumeToken(row: Row, now: number): string {
  const { run, born, epoch, version, stirs } = row;
  const told = [run, born, epoch, version, stirs, summaryOf(row, now).resumable];
  return Buffer.from(JSON.stringify(told)).toString("base64url");
}

export const entityTag = (token: string): string => `"${token}"`;

/** Whether one of the tags of an If-None-Match is that very token. */
export const isUnchanged = (header: string, token: string): boolean =>
  tagsIn(header).some((tag) => tag === "*" || tag === token);

/** Whether one of the tags of an If-Match saw the run under the epoch that it has. */
export function isOfEpoch(header: string, { run, born, epoch }: Row): boolean {
  return tagsIn(header).some((tag) => {
    const seen = seenIn(tag);
    return tag === "*" || [run, born, epoch].every((each, index) => seen[index] === each);
  });
}

/** Entity tags, or tokens as they are: a token has no comma and no quote in it. */
const tagsIn = (header: string): readonly string[] =>
  header.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/s, "$1"));

/** What a token says: the run, its incarnation, the epoch and so on; nothing where it is none. */
function seenIn(token: string): readonly unknown[] {
  try {
    const told: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    return Array.isArray(told) ? told : [];
  } catch {
    return [];
  }
}
