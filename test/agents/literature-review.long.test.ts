/** The researcher on its corpus: what it fetches, what its context holds, and that its review says what the papers say. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { literatureReview } from "../../agents/literature-review/agent.ts";
import { SUBJECTS as ASSIGNED } from "../../agents/literature-review/assignment.ts";
import { type Paper, PAPERS, etagOf, isSection, paperOf } from "../../agents/literature-review/corpus/papers.ts";
import { type Question, SUBJECTS } from "../../agents/literature-review/corpus/subjects.ts";
import { textOf } from "../../agents/literature-review/corpus/text.ts";
import { citedIn, reviewsIn } from "../../agents/literature-review/desk.ts";
import { requestsIn, revise } from "../../agents/literature-review/library.ts";
import { countOf } from "../../agents/literature-review/wording.ts";
import type { Event } from "../../src/core/event.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { playRun } from "../support/runs/topology-run.ts";

const agent = literatureReview as Agent;

function library(): string {
  const dir = mkdtempSync(join(tmpdir(), "cairn-library-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  vi.stubEnv("LIBRARY", dir);
  onTestFinished(() => void vi.unstubAllEnvs());
  return dir;
}

/** The sections that a review links to, with the paragraph that each link names. */
function paragraphsBehind(body: string): readonly string[] {
  return citedIn(body).map(({ paper, section, etag, paragraph }) => {
    const of = paperOf(paper) ?? expect.fail(`it cites ${paper}, which does not exist`);
    if (!isSection(section)) return expect.fail(`it cites the section ${section}`);
    const revision = [0, 1].find((each) => etagOf(paper, section, each) === etag) ?? expect.fail(`etag ${etag}`);
    const numbered = textOf(of, section, revision).split("\n\n");
    return numbered.find((each) => each.startsWith(`¶${paragraph} `)) ?? expect.fail(`${paper} has no ¶${paragraph}`);
  });
}

const tokensIn = (events: readonly Event[]): readonly number[] =>
  events.flatMap((event) => (event.kind === "BudgetDebited" ? (event.debit.tokensIn ?? []) : []));

const answersOf = (question: Question, answer: "yes" | "no"): number =>
  PAPERS.filter(({ findings }) => findings.some((each) => each.question === question && each.answer === answer)).length;

test("each section of the corpus is longer than 4,000 tokens, and its assignment names each subject", () => {
  const short = PAPERS.flatMap((paper: Paper) =>
    (["introduction", "methods", "results", "related-work", "discussion"] as const).filter(
      (section) => Buffer.byteLength(textOf(paper, section, 0)) <= SIZES.inlineBytesMax,
    ),
  );
  expect(short).toEqual([]);
  expect(ASSIGNED).toEqual(SUBJECTS.map(({ name }) => name));
});

test("the review fetches each section once, keeps its context bounded, and says what the papers say", async () => {
  const dir = library();
  const { shown, events } = await playRun(agent, { input: { reader: "Grace" } });
  expect(shown).toMatchObject({ status: "completed", result: { review: "R1", papers: PAPERS.length } });

  const fetched = requestsIn(dir).filter(({ what }) => what === "fetch");
  expect(fetched).toHaveLength(5 * PAPERS.length);
  expect(fetched.filter(({ answer, times }) => answer !== "full" || times !== 1)).toEqual([]);

  const compactions = events.filter(({ kind }) => kind === "Compacted");
  expect(compactions.length).toBeGreaterThan(3);
  expect(Math.max(...tokensIn(events))).toBeLessThanOrEqual(agent.contextTokensMax ?? 0);

  const [review, ...more] = reviewsIn(dir);
  expect(more).toEqual([]);
  const body = review?.body ?? "";
  // Every link leads to a paragraph with a sentence of the kinds that a review rests on.
  const behind = paragraphsBehind(body);
  expect(behind.length).toBeGreaterThan(200);
  const claims =
    /We measured|came to|Across all runs|We find that|results show that|experiments show that|differenc|We killed|limitation/;
  expect(behind.filter((paragraph) => !claims.test(paragraph))).toEqual([]);
  // The figures and the answers are those of the corpus, not only sentences that look like them.
  for (const { measures, questions } of SUBJECTS) {
    for (const { name, settings } of measures) {
      for (const { words } of settings) {
        const values = PAPERS.flatMap(({ figures }) => figures)
          .filter(({ measure, setting }) => measure.name === name && setting === words)
          .map(({ value }) => Number(value));
        if (values.length < 2) continue;
        expect(body).toContain(`between ${Math.min(...values)} and ${Math.max(...values)}`);
      }
    }
    for (const question of questions) {
      const [yes, no] = [answersOf(question, "yes"), answersOf(question, "no")];
      const larger = yes > no ? question.yes : question.no;
      const balance =
        yes === no
          ? `${countOf(yes)} against ${countOf(no)}`
          : `${countOf(Math.max(yes, no))} of ${countOf(yes + no)} studies find that (${larger.join("|")})`;
      if (yes > 0 && no > 0) expect(new RegExp(balance, "i").test(body), balance).toBe(true);
    }
  }
});

test("a paper that is revised while the review is written is read again, and nothing else is", async () => {
  const dir = library();
  const noted = (): readonly string[] =>
    requestsIn(dir).flatMap(({ what, subject }) => (what === "note" ? [subject] : []));
  let revised = "";
  const { shown } = await playRun(agent, {
    input: { subjects: [SUBJECTS[0]?.name ?? ""], papersMax: 6 },
    crash: { at: 260, when: "before" },
    afterDeath: () => revise(dir, (revised = noted()[0] ?? "")),
  });
  expect(shown?.status).toBe("completed");
  const { figures } = paperOf(revised) ?? expect.fail("no paper was noted when the process died");
  const full = requestsIn(dir).filter(({ answer }) => answer === "full");
  expect(full).toHaveLength(7 * 5);
  expect(full.filter(({ subject }) => subject.startsWith(revised))).toHaveLength(10);
  const [figure] = figures;
  const corrected = (Number(figure?.value) * 1.1).toFixed(figure?.measure.digits);
  expect(
    reviewsIn(dir).map(({ body }) => ({
      isCorrected: body.includes(corrected),
      citesResults: body.includes(`${revised}/results@`),
    })),
  ).toEqual([{ isCorrected: true, citesResults: true }]);
});

test("a review on a near subject recalls what the one before it found, and is asked for changes only", async () => {
  const dir = library();
  const first = SUBJECTS[0]?.name ?? "";
  const near = "recovery time from snapshots after a crash";
  const { harness } = await playRun(agent, { input: { reader: "Ada", subjects: [first], papersMax: 4 } });
  const before = requestsIn(dir).filter(({ what }) => what === "fetch");
  expect(before.map(({ answer, times }) => ({ answer, times }))).toEqual(
    before.map(() => ({ answer: "full", times: 1 })),
  );

  const input = { question: "What slows a recovery down?", reader: "Bob", subjects: [near], papersMax: 4 };
  const { shown, events } = await playRun(agent, { harness, input });
  expect(shown?.status).toBe("completed");
  const [earlier, later] = reviewsIn(dir).map(({ body }) => body);
  const lead = /^\* \*\*.*?\*\* (.*)$/m.exec(earlier ?? "")?.[1] ?? expect.fail("it has no lead");
  expect(earlier).not.toContain("Earlier reviews");
  expect(later).toContain(`Earlier reviews on near subjects found:\n\n* On ${first}: ${lead} (review R1)`);
  expect(events.filter(({ kind }) => kind === "Recalled")).toHaveLength(1);
  // Sections that both reviews read are kept with their etags: the library confirms them, and does not charge again.
  const fetches = requestsIn(dir).filter(({ what }) => what === "fetch");
  const again = fetches.filter(({ answer }) => answer === "not modified");
  expect(again.length).toBeGreaterThanOrEqual(10);
  expect(
    fetches.filter(({ answer, times }) => answer !== "not modified" && (answer !== "full" || times !== 1)),
  ).toEqual([]);
});
