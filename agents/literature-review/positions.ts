/**
 * Sorts findings by the question that they answer, and the answers of a question into two sides. Findings with many
 * words in common answer the same question. Which of them oppose each other is what the papers say themselves ("This
 * result contradicts …, who report that …"): a text method alone cannot tell "no" from "yes".
 */
import { type Saying, likeness } from "./extract.ts";
import { type Note, ofKind } from "./notes.ts";

type Of<Kind extends Saying["kind"]> = Note<Extract<Saying, { readonly kind: Kind }>>;

/** One side: its findings, and the words of the most common one. */
interface Side {
  readonly words: string;
  readonly notes: readonly Of<"finding">[];
}

export interface Position {
  readonly majority: Side;
  readonly minority: Side | null;
  readonly reasons: readonly Of<"difference">[];
}

const SAME_QUESTION = 0.3;

/** The questions that the notes answer, the most studied one first. */
export function positionsIn(notes: readonly Note[]): readonly Position[] {
  const findings = onePerPaper(ofKind(notes, "finding"));
  const against = ofKind(notes, "contradiction");
  const reasons = ofKind(notes, "difference");
  return questionsIn(findings)
    .map((answers) => {
      const here = against.filter(({ said }) => answers.some((each) => isSame(each.said.words, said.words)));
      const [majority, minority] = sidesOf(answers, here);
      const isOurs = (reason: Of<"difference">): boolean =>
        here.some(({ link, said, label }) => {
          const isOfPair = label === reason.label && said.label === reason.said.label;
          return (
            isOfPair &&
            follows(
              link,
              reason.link,
              against.filter((each) => each.label === label),
            )
          );
        });
      return { majority, minority, reasons: minority === null ? [] : reasons.filter(isOurs) };
    })
    .toSorted((one, other) => sizeOf(other) - sizeOf(one));
}

const sizeOf = ({ majority, minority }: Position): number => majority.notes.length + (minority?.notes.length ?? 0);

const isSame = (one: string, other: string): boolean => likeness(one, other) >= SAME_QUESTION;

const paperOf = (link: string): string => link.slice(0, link.indexOf("/"));
const paragraphOf = (link: string): number => Number(link.slice(link.indexOf("#") + 1));

/** Whether the reason at `later` belongs to the contradiction at `link` and to none that stands closer before it. */
function follows(link: string, later: string, all: readonly { readonly link: string }[]): boolean {
  const before = all.filter((each) => paragraphOf(each.link) <= paragraphOf(later));
  const nearest = Math.max(...before.map((each) => paragraphOf(each.link)));
  return paragraphOf(link) === nearest;
}

/** A paper says a finding in its introduction and again in its results; the results count. */
function onePerPaper(findings: readonly Of<"finding">[]): readonly Of<"finding">[] {
  const isResult = ({ link }: Of<"finding">): boolean => link.includes("/results@");
  return findings.filter(
    (finding) =>
      isResult(finding) ||
      !findings.some(
        (other) =>
          isResult(other) &&
          paperOf(other.link) === paperOf(finding.link) &&
          isSame(other.said.words, finding.said.words),
      ),
  );
}

function questionsIn(findings: readonly Of<"finding">[]): readonly (readonly Of<"finding">[])[] {
  const questions: Of<"finding">[][] = [];
  for (const finding of findings) {
    const fitting = questions.find((each) => each.some((other) => isSame(other.said.words, finding.said.words)));
    if (fitting === undefined) questions.push([finding]);
    else fitting.push(finding);
  }
  return questions;
}

/** The larger side first. Words that no contradiction connects join the side that they resemble most. */
function sidesOf(
  answers: readonly Of<"finding">[],
  against: readonly Of<"contradiction">[],
): readonly [Side, Side | null] {
  const wordings = [...new Set([...answers, ...against].map(({ said }) => said.words))];
  const opposed = against.flatMap(({ link, said }) => {
    const own = answers.find((each) => paperOf(each.link) === paperOf(link));
    return own === undefined ? [] : [[own.said.words, said.words] as const];
  });
  const side = new Map<string, 0 | 1>();
  const [start] = opposed;
  if (start !== undefined) side.set(start[0], 0);
  for (let more = true; more;) {
    more = false;
    for (const [one, other] of [...opposed, ...opposed.map(([left, right]) => [right, left] as const)]) {
      const known = side.get(one);
      if (known === undefined || side.has(other)) continue;
      side.set(other, known === 0 ? 1 : 0);
      more = true;
    }
  }
  const decided = [...side.keys()];
  for (const words of wordings.filter((each) => !side.has(each))) {
    const [nearest] = decided.toSorted((one, other) => likeness(words, other) - likeness(words, one));
    side.set(words, nearest === undefined ? 0 : (side.get(nearest) ?? 0));
  }
  const sides = ([0, 1] as const)
    .map((which) => answers.filter(({ said }) => side.get(said.words) === which))
    .filter((notes) => notes.length > 0)
    .toSorted((one, other) => other.length - one.length)
    .map((notes) => ({ notes, words: commonest(notes) }));
  const [majority, minority = null] = sides;
  if (majority === undefined) throw new Error("a question without an answer");
  return [majority, minority];
}

function commonest(notes: readonly Of<"finding">[]): string {
  const words = notes.map(({ said }) => said.words);
  const times = (each: string): number => words.filter((other) => other === each).length;
  return words.toSorted((one, other) => times(other) - times(one) || (one < other ? -1 : 1))[0] ?? "";
}
