/**
 * Text methods of the scripted model: which sentences of a section hold something to note, what such a sentence says,
 * and what it is about. They look for the turns of phrase in which papers report results, and know no paper.
 */

/** The phrases to look for in a section. A sentence with none of them is not noted. */
export const PHRASES = {
  figures: ["we measured a", " came to ", "across all runs, the "],
  findings: ["we find that", "our results show that", "the experiments show that", "we show that"],
  disputes: ["contradicts", "the difference between"],
  methods: ["we killed", "limitation of the method", "this paper is about"],
} as const;

/** A sentence with the number of its paragraph. */
export interface Found {
  readonly paragraph: number;
  readonly sentence: string;
}

/** The sentences of a section that contain one of the phrases, word for word. Its paragraphs are numbered. */
export function foundIn(section: string): readonly Found[] {
  const wanted = Object.values(PHRASES).flat();
  return section.split("\n\n").flatMap((numbered) => {
    const [, paragraph = "", words = ""] = /^¶(\d+) (.*)$/s.exec(numbered) ?? [];
    return sentencesOf(words)
      .filter((sentence) => wanted.some((phrase) => sentence.toLowerCase().includes(phrase)))
      .map((sentence) => ({ paragraph: Number(paragraph), sentence }));
  });
}

const sentencesOf = (text: string): readonly string[] => text.split(/(?<=[.!?"]) (?=[A-ZÀ-Ž])/u);

/** What a sentence says, as far as the writer uses it. */
export type Saying =
  | {
      readonly kind: "figure";
      readonly measure: string;
      readonly value: number;
      readonly unit: string;
      readonly setting: string;
    }
  | { readonly kind: "finding"; readonly words: string }
  | { readonly kind: "contradiction"; readonly label: string; readonly words: string }
  | { readonly kind: "difference"; readonly label: string; readonly reason: string }
  | { readonly kind: "topic"; readonly main: string }
  | { readonly kind: "sample"; readonly runs: number }
  | { readonly kind: "limit"; readonly words: string };

const MEASURED = [
  /^We measured an? (.+?) of ([\d.]+) (.+)\.$/,
  /^(?:The|Across all runs, the) (.+?) (?:came to|was) ([\d.]+) (.+)\.$/,
];
const FOUND = /^(?:We find|Our results show|The experiments show|In this paper we show) that (.+)\.$/;
const CONTRADICTS = /^This result contradicts (.+? \(\d{4}\)), who report that (.+)\.$/;
const DIFFERS = /^The difference between (.+? \(\d{4}\)) and us may come from (.+)\.$/;
const ABOUT = /^This paper is about (.+?), and it touches on /;
const KILLED = /^We killed ([\d,]+) runs/;
const LIMITED = /^One limitation of the method is that (.+)\.$/;
const UNIT = /^(percent|seconds|milliseconds|minutes) (.+)$/;

export function sayingOf(sentence: string): Saying | null {
  for (const pattern of MEASURED) {
    const [, measure, value, rest = ""] = pattern.exec(sentence) ?? [];
    if (measure === undefined) continue;
    const [, unit = "", setting = rest] = UNIT.exec(rest) ?? [];
    return { kind: "figure", measure, value: Number(value), unit, setting };
  }
  const [, found] = FOUND.exec(sentence) ?? [];
  if (found !== undefined) return { kind: "finding", words: found };
  const [, label, words = ""] = CONTRADICTS.exec(sentence) ?? [];
  if (label !== undefined) return { kind: "contradiction", label, words };
  const [, other, reason = ""] = DIFFERS.exec(sentence) ?? [];
  if (other !== undefined) return { kind: "difference", label: other, reason };
  const [, main] = ABOUT.exec(sentence) ?? [];
  if (main !== undefined) return { kind: "topic", main };
  const [, runs] = KILLED.exec(sentence) ?? [];
  if (runs !== undefined) return { kind: "sample", runs: Number(runs.replaceAll(",", "")) };
  const [, limit] = LIMITED.exec(sentence) ?? [];
  return limit === undefined ? null : { kind: "limit", words: limit };
}

/** The subject that shares most words with the text, or null if none shares any. */
export function subjectOf(text: string, subjects: readonly string[]): string | null {
  const words = stemsOf(text);
  const scored = subjects.map((subject) => ({ subject, score: scoreOf(words, stemsOf(subject), subjects) }));
  const [best] = scored.toSorted((one, other) => other.score - one.score);
  return best === undefined || best.score === 0 ? null : best.subject;
}

/** Shared words, each worth less the more subjects have it. */
function scoreOf(words: ReadonlySet<string>, of: ReadonlySet<string>, subjects: readonly string[]): number {
  const sharing = (word: string): number => subjects.filter((subject) => stemsOf(subject).has(word)).length;
  return [...of].filter((word) => words.has(word)).reduce((sum, word) => sum + 1 / sharing(word), 0);
}

/** How much two texts have in common: the share of their words that both have. */
export function likeness(one: string, other: string): number {
  const [left, right] = [stemsOf(one), stemsOf(other)];
  const shared = [...left].filter((word) => right.has(word)).length;
  return shared / Math.max(1, left.size + right.size - shared);
}

const SMALL = new Set(
  "a an and are as at be because been by each for from had has have if in is it its of on or since so than that the their they to was were who with".split(
    " ",
  ),
);

const known = new Map<string, ReadonlySet<string>>();

function stemsOf(text: string): ReadonlySet<string> {
  const stems =
    known.get(text) ??
    new Set((text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => !SMALL.has(word)).map(stem));
  known.set(text, stems);
  return stems;
}

const stem = (word: string): string => word.replace(/(ing|ed|es|s|e)$/, "");
