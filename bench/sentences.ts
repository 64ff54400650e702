/** Text that compresses as the text of models and tools does: sentences of the documentation, in another order each. */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Also from the bundle, which is in another folder.
const DOCS = join(dirname(fileURLToPath(import.meta.resolve("#package"))), "docs");

let sentences: readonly string[] | null = null;

/** Read at the first reply, so that an agent loads as fast as one of a user. */
const readSentences = (): readonly string[] =>
  readdirSync(DOCS)
    .filter((name) => name.endsWith(".md"))
    .toSorted()
    .flatMap((name) => readFileSync(join(DOCS, name), "utf8").split(/\n\s*\n/))
    .filter((paragraph) => /^[A-Z*]/.test(paragraph))
    .flatMap((paragraph) => paragraph.replace(/\s+/g, " ").split(/(?<=[.:;]) /))
    .filter(({ length }) => length > 30);

/** Different for each seed, and the same each time. */
export function prose(seed: number, characters: number): string {
  sentences ??= readSentences();
  let state = seed * 2_654_435_761;
  let text = "";
  while (text.length < characters) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += `${sentences[state % sentences.length] ?? ""} `;
  }
  return text.slice(0, characters);
}
