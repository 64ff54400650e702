/**
 * The reader's own copies of sections, by etag. A copy that is there is not fetched again: the reader shows its etag to
 * the library, and the library answers "not modified". A process that has no copy, as on another machine, fetches the
 * section again under the same idempotency key, which is not charged again.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { libraryDir } from "./library-file.ts";
import { type Source, deliver } from "./library.ts";

/** The text of a section, from the shelf if its copy is the one of today. */
export function obtain(
  { paper, section, etag }: Source,
  key: string,
): { readonly etag: string; readonly text: string } {
  const copy = copyOf({ paper, section, etag });
  const delivery = deliver({ paper, section }, { key, copy: copy === null ? null : etag });
  if (delivery.text === null) return { etag, text: copy ?? "" };
  keepCopy({ paper, section, etag: delivery.etag }, delivery.text);
  return { etag: delivery.etag, text: delivery.text };
}

/** The copy with that etag, or null. */
function copyOf(source: Source): string | null {
  try {
    return readFileSync(placeOf(source), "utf8");
  } catch {
    return null;
  }
}

/** A copy appears whole or not at all, so a killed process leaves no half of one. */
function keepCopy(source: Source, text: string): void {
  const place = placeOf(source);
  mkdirSync(join(libraryDir(), "shelf"), { recursive: true });
  writeFileSync(`${place}.${process.pid}`, text);
  renameSync(`${place}.${process.pid}`, place);
}

const placeOf = ({ paper, section, etag }: Source): string =>
  join(libraryDir(), "shelf", `${paper}-${section}-${etag}.txt`.replaceAll(/[^\w.-]/g, "_"));

export interface Found {
  readonly paragraph: number;
  readonly sentence: string;
}

/** The sentences of a copy that contain one of the phrases. Throws if the section was not fetched. */
export function findIn(source: Source, phrases: readonly string[]): readonly Found[] {
  const text = copyOf(source);
  if (text === null) {
    throw new Error(`there is no copy of ${source.paper}/${source.section}@${source.etag}: call fetchSection first`);
  }
  const wanted = phrases.map((phrase) => phrase.toLowerCase());
  return text.split("\n\n").flatMap((numbered) => {
    const [, paragraph = "", words = ""] = /^¶(\d+) (.*)$/s.exec(numbered) ?? [];
    return sentencesOf(words)
      .filter((sentence) => wanted.some((phrase) => sentence.toLowerCase().includes(phrase)))
      .map((sentence) => ({ paragraph: Number(paragraph), sentence }));
  });
}

const sentencesOf = (text: string): readonly string[] => text.split(/(?<=[.!?"]) (?=[A-ZÀ-Ž])/u);
