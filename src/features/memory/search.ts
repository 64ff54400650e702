/**
 * Searches entries of one memory by their words (BM25). Pure: the caller reads the entries, which are few enough for it.
 */
import type { MemoryEntry, MemoryHit, MemorySearch } from "../../ports/memory.ts";

const WORDS_MAX = 32;
const SNIPPET_CHARACTERS = 240;
/** The usual constants of BM25: how soon repetition stops to count, and how much a long text counts less. */
const REPETITION = 1.2;
const LENGTH = 0.75;

/** The words of a text: lower case, without accents. Of scripts that write no spaces, the pairs of characters. */
const wordsOf = (text: string): readonly string[] =>
  (text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase().match(WORDS) ?? []).flatMap((word) =>
    UNSPACED.test(word) ? pairsIn(word) : [word],
  );

const LETTERS = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]`;
const WORDS = new RegExp(String.raw`[[\p{L}\p{N}]&&${LETTERS}]+|[[\p{L}\p{N}]--${LETTERS}]+`, "gv");
const UNSPACED = new RegExp(LETTERS, "v");

/** A character alone is a word of its own. */
function pairsIn(word: string): readonly string[] {
  const characters = [...word];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, at) => `${characters[at] ?? ""}${character}`);
}

/** The entries that fit, best first. Equal scores: newest first, then by ID, so that each search has one answer. */
export function searchEntries(
  entries: readonly MemoryEntry[],
  text: string,
  { limit, tags = [] }: MemorySearch & { readonly limit: number },
): readonly MemoryHit[] {
  const tagged = entries.filter((entry) => tags.every((tag) => entry.tags.includes(tag)));
  const asked = [...new Set(wordsOf(text))].slice(0, WORDS_MAX);
  const texts = tagged.map((entry) => ({ entry, words: wordsOf(`${entry.text} ${entry.tags.join(" ")}`) }));
  const mean = texts.reduce((sum, { words }) => sum + words.length, 0) / Math.max(1, texts.length);
  const weights = asked.map((word) => {
    const having = texts.filter(({ words }) => words.includes(word)).length;
    return { word, weight: Math.log(1 + (texts.length - having + 0.5) / (having + 0.5)) };
  });
  return texts
    .map(({ entry, words }) => ({ entry, score: scoreOf(words, weights, mean) }))
    .filter(({ score }) => asked.length === 0 || score > 0)
    .toSorted((a, b) => b.score - a.score || b.entry.at - a.entry.at || (a.entry.id < b.entry.id ? -1 : 1))
    .slice(0, Math.max(1, limit))
    .map(({ entry: { id, digest, tags: has, at, text: whole }, score }) => ({
      id,
      digest,
      tags: has,
      at,
      score: Math.round(score * 1_000) / 1_000,
      snippet: snippetOf(whole, asked),
    }));
}

interface Weighed {
  readonly word: string;
  readonly weight: number;
}

function scoreOf(words: readonly string[], weights: readonly Weighed[], mean: number): number {
  const long = REPETITION * (1 - LENGTH + (LENGTH * words.length) / Math.max(1, mean));
  return weights.reduce((sum, { word, weight }) => {
    const times = words.filter((each) => each === word).length;
    return sum + (weight * times * (REPETITION + 1)) / (times + long);
  }, 0);
}

/** The part of the text around the first word that was asked for. */
function snippetOf(text: string, asked: readonly string[]): string {
  const flat = text.replaceAll(/\s+/gu, " ").trim();
  if (flat.length <= SNIPPET_CHARACTERS) return flat;
  const found = placeOf(flat, new Set(asked));
  const start = Math.min(Math.max(0, found - SNIPPET_CHARACTERS / 4), flat.length - SNIPPET_CHARACTERS);
  const part = flat.slice(start, start + SNIPPET_CHARACTERS).toWellFormed();
  return `${start > 0 ? "…" : ""}${part}${start + SNIPPET_CHARACTERS < flat.length ? "…" : ""}`;
}

/** Where the first of the words is written, with or without accents; 0 if none is. */
function placeOf(flat: string, asked: ReadonlySet<string>): number {
  for (const { 0: written, index } of flat.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    const word = wordsOf(written).find((each) => asked.has(each));
    if (word !== undefined) return index + Math.max(0, written.toLowerCase().indexOf(word));
  }
  return 0;
}
