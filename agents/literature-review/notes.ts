/** The notes that the desk found, read: where each stands, whose it is and what it says. And what was recalled. */
import { z } from "zod";
import type { Earlier } from "./ends.ts";
import { type Saying, sayingOf } from "./extract.ts";

/** A note with what it says. */
export interface Note<Said extends Saying = Saying> {
  readonly link: string;
  readonly label: string;
  readonly said: Said;
}

/** Notes from the lines that the desk found: link, paper and sentence. Lines that say nothing are left out. */
export function notesIn(lines: readonly string[]): readonly Note[] {
  return lines.flatMap((line) => {
    const [link = "", label = "", sentence = ""] = line.split(" | ");
    const said = sayingOf(sentence);
    return said === null ? [] : [{ link, label, said }];
  });
}

export const ofKind = <Kind extends Saying["kind"]>(notes: readonly Note[], kind: Kind) =>
  notes.filter((note): note is Note<Extract<Saying, { readonly kind: Kind }>> => note.said.kind === kind);

const recalled = z.object({ text: z.string(), source: z.string(), tags: z.array(z.string()) });

/** What earlier reviews found, as the instructions list it: one line of JSON each. */
export function earlierIn(instructions: string): readonly Earlier[] {
  return [...instructions.matchAll(/^- (\{.*\})$/gm)].flatMap(([, line = ""]) => {
    const entry = recalled.safeParse(JSON.parse(line)).data;
    return entry?.tags.includes("finding") === true ? [{ text: entry.text, source: entry.source }] : [];
  });
}
