/** The opening and the closing of a review, from the leads of its chapters. */
import { andList, capital, countOf, numberIn } from "./wording.ts";

interface Lead {
  readonly subject: string;
  readonly lead: string;
}

/** What an earlier review found, and which one. */
export interface Earlier {
  readonly text: string;
  readonly source: string;
}

export function openingOf(question: string, chapters: readonly Lead[], earlier: readonly Earlier[]): string {
  const list = chapters.map(({ subject, lead }) => `* **${capital(subject)}.** ${lead}`).join("\n");
  const many = chapters.length === 1 ? "one subject" : `${countOf(chapters.length)} subjects`;
  return `*${question}* This review follows the question through ${many}. On each of them, one answer stands out, or two that are equally strong:\n\n${list}${recalled(earlier)}`;
}

function recalled(earlier: readonly Earlier[]): string {
  if (earlier.length === 0) return "";
  const list = earlier.map(({ text, source }) => `* ${text} (${source})`).join("\n");
  return `\n\nEarlier reviews on near subjects found:\n\n${list}`;
}

const SUPPORT = /^(.*) \((\w+) of (\w+) studies\)\.$/;

/** From this share of the studies on, an answer counts as firm. */
const FIRM = 0.75;

/** Which answers are firm, and where a reader has to choose. */
export function closingOf(chapters: readonly Lead[]): string {
  const answers = chapters.flatMap(({ subject, lead }) => {
    const [, words = "", many = "", all = ""] = SUPPORT.exec(lead) ?? [];
    return words === "" ? [] : [{ subject, words, share: numberIn(many) / numberIn(all) }];
  });
  const firm = answers.filter(({ share }) => share >= FIRM).toSorted((one, other) => other.share - one.share);
  const open = answers.filter(({ share }) => share < FIRM).map(({ subject }) => subject);
  const [first] = firm;
  const parts = [
    first === undefined
      ? "No answer has the support of three quarters of the studies."
      : `At least three quarters of the studies agree on ${andList(firm.map(({ subject }) => subject))}. The firmest answer of all: ${uncapital(first.words)}.`,
    open.length === 0
      ? ""
      : `On ${andList(open)} they are further apart. There the reasons that the authors give are a better guide than the count: before a team follows either side, it should find out which of the two situations is its own.`,
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

const uncapital = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
