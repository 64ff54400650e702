/** The notes that the desk found, read: where each stands, whose it is and what it says. */
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
