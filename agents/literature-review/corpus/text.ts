/**
 * The texts of the papers. What a paper found stands in a few sentences of a long section, between sentences about how
 * the work was done, so a reader has to look for it. Each section has more than 4,000 tokens.
 */
import { type Chance, chanceOf } from "./chance.ts";
import { type Figure, PAPERS, type Finding, type Paper, type Section } from "./papers.ts";
import { SENTENCES, SLOTS } from "./sentences.ts";

/** A page of text in a section, in characters. */
const CHARACTERS_MIN = 17_200;
const CHARACTERS_MORE = 3_000;
const SENTENCES_PER_PARAGRAPH = 7;

/** The text of a section: numbered paragraphs. A revised paper corrects its first figure. */
export function textOf(paper: Paper, section: Section, revision: number): string {
  const chance = chanceOf("text", paper.id, section);
  const said = sayings(paper, { section, revision, chance });
  const length = CHARACTERS_MIN + chance.whole(0, CHARACTERS_MORE);
  const fill: string[] = [];
  for (let size = said.join(" ").length; size < length;) {
    for (const template of chance.shuffle(SENTENCES[section])) {
      const sentence = filled(template, chance);
      fill.push(sentence);
      size += sentence.length + 1;
      if (size >= length) break;
    }
  }
  return paragraphs(spread(said, fill, chance));
}

/** The sentences of a section that only this paper has. */
function sayings(
  paper: Paper,
  of: { readonly section: Section; readonly revision: number; readonly chance: Chance },
): readonly string[] {
  const { section, revision, chance } = of;
  const { runs, figures, findings, limit, subjects } = paper;
  switch (section) {
    case "introduction":
      return [
        `This paper is about ${subjects[0]?.name ?? ""}, and it touches on ${subjects[1]?.name ?? ""}.`,
        ...findings.slice(0, 1).map(({ words }) => `In this paper we show that ${words}.`),
      ];
    case "methods":
      return [
        `We killed ${runs.toLocaleString("en-US")} runs at random moments, and compared each of them with an undisturbed one.`,
        `One limitation of the method is that ${limit}.`,
      ];
    case "results":
      return [
        ...figures.map((figure, index) => worded(figure, index === 0 ? revision : 0, chance)),
        ...findings.map(({ words }) => `${chance.pick(FINDING)} ${words}.`),
      ];
    case "related-work":
      return related(paper, chance);
    case "discussion":
      return findings.flatMap((finding) => replies(paper, finding, chance));
  }
}

/** Units that the name of the measure contains already. */
const COUNTED = new Set(["effects", "writes", "calls"]);

const FINDING = ["We find that", "Our results show that", "The experiments show that"] as const;

function worded({ measure, value, setting }: Figure, revision: number, chance: Chance): string {
  const { name, unit, digits } = measure;
  const corrected = (Number(value) * (1 + revision / 10)).toFixed(digits);
  const amount = COUNTED.has(unit) ? corrected : `${corrected} ${unit}`;
  return chance.pick([
    `We measured a ${name} of ${amount} ${setting}.`,
    `The ${name} came to ${amount} ${setting}.`,
    `Across all runs, the ${name} was ${amount} ${setting}.`,
  ]);
}

/** Earlier papers on the same subject, with what they found. */
function related(paper: Paper, chance: Chance): readonly string[] {
  const earlier = PAPERS.filter(
    (each) => PAPERS.indexOf(each) < PAPERS.indexOf(paper) && each.subjects.some((one) => paper.subjects.includes(one)),
  );
  return chance
    .shuffle(earlier)
    .slice(0, 6)
    .flatMap(({ label, findings }) => {
      const [finding] = findings;
      return finding === undefined
        ? []
        : [`${label} ${chance.pick(["report", "argue", "conclude"])} that ${finding.words}.`];
    });
}

/** What the discussion says about the newest earlier papers that answer the same question. */
function replies(paper: Paper, { question, answer }: Finding, chance: Chance): readonly string[] {
  const earlier = PAPERS.slice(0, PAPERS.indexOf(paper)).toReversed();
  const answering = (wanted: (other: Finding) => boolean) =>
    earlier.find(({ findings }) => findings.some((other) => other.question === question && wanted(other)));
  const against = answering((other) => other.answer !== answer);
  const same = answering((other) => other.answer === answer);
  const theirs = against?.findings.find((other) => other.question === question);
  return [
    ...(same === undefined ? [] : [`This result ${chance.pick(["agrees", "is in line"])} with ${same.label}.`]),
    ...(against === undefined || theirs === undefined
      ? []
      : [
          `This result contradicts ${against.label}, who report that ${theirs.words}.`,
          `The difference between ${against.label} and us may come from ${question.because}.`,
        ]),
  ];
}

const filled = (template: string, chance: Chance): string =>
  template
    .replaceAll(/\{(\w+)\}/g, (_, slot: string) => {
      const words = SLOTS[slot];
      if (words === undefined) throw new Error(`the template names an unknown slot: ${slot}`);
      return typeof words === "function" ? words(chance) : chance.pick(words);
    })
    .replaceAll(/\b([Aa]) (?=[aeiou])/g, "$1n ");

/** Puts the sentences that matter among the others, in their order and not at the ends of the text. */
function spread(said: readonly string[], fill: readonly string[], chance: Chance): readonly string[] {
  const text = [...fill];
  const places = said.map(() => chance.whole(3, Math.max(3, fill.length - 3))).toSorted((one, other) => one - other);
  for (const [index, sentence] of said.entries()) text.splice((places[index] ?? 0) + index, 0, sentence);
  return text;
}

/** Paragraphs with their numbers, by which a reader cites them. */
function paragraphs(sentences: readonly string[]): string {
  const parts: string[] = [];
  for (let at = 0; at < sentences.length; at += SENTENCES_PER_PARAGRAPH) {
    parts.push(`¶${parts.length + 1} ${sentences.slice(at, at + SENTENCES_PER_PARAGRAPH).join(" ")}`);
  }
  return parts.join("\n\n");
}
