/**
 * The scripted model as a writer: it makes a chapter of the review from the notes about one subject. It states what
 * studies measured, where they agree, where they disagree and what they say about the reason. Each claim links to the
 * paragraphs that it rests on.
 */
import { type Saying, likeness } from "./extract.ts";
import { type Note, ofKind } from "./notes.ts";
import { type Position, positionsIn } from "./positions.ts";
import { andList, between, capital, countOf, plural } from "./wording.ts";

/** A chapter, and the sentence that stands for it in the opening of the review. */
export function chapterOf(notes: readonly Note[]): { readonly lead: string; readonly body: string } {
  const positions = positionsIn(notes);
  const parts = [evidenceBase(notes), figures(notes), ...positions.map(dispute), caution(notes)];
  return { lead: leadOf(positions, notes), body: parts.filter((part) => part !== "").join("\n\n") };
}

/** Links to paragraphs. The desk replaces the names of the papers by their numbers among the references. */
function cite(links: readonly string[]): string {
  const shown = links.map((link) => `[${/^library:([^/]+)/.exec(link)?.[1] ?? ""}](${link})`);
  return shown.length === 0 ? "" : ` (${shown.join(", ")})`;
}

function evidenceBase(notes: readonly Note[]): string {
  const labels = [...new Set(notes.map(({ label }) => label))];
  const years = labels.map((label) => Number(/\((\d{4})\)/.exec(label)?.[1])).toSorted((one, other) => one - other);
  const samples = ofKind(notes, "sample");
  const killed = samples.reduce((sum, { said }) => sum + said.runs, 0);
  const who = `${capital(plural(labels.length, "study", "studies"))} from ${years[0]} to ${years.at(-1)}`;
  const first = `${who} ${labels.length === 1 ? "speaks" : "speak"} to this.`;
  if (samples.length === 0) return first;
  const whose = `${capital(countOf(samples.length))} of them ${samples.length === 1 ? "has" : "have"} it as the main subject`;
  return `${first} ${whose}, and killed ${killed.toLocaleString("en-US")} runs${samples.length === 1 ? "" : " between them"}.`;
}

type FigureNote = Note<Extract<Saying, { readonly kind: "figure" }>>;

function figures(notes: readonly Note[]): string {
  const all = ofKind(notes, "figure");
  const measures = [...new Set(all.map(({ said }) => said.measure))];
  return measures
    .map((measure) =>
      figureText(
        measure,
        all.filter(({ said }) => said.measure === measure),
      ),
    )
    .join(" ");
}

/** What the studies measured in each setting, and whether the setting explains the difference. */
function figureText(measure: string, notes: readonly FigureNote[]): string {
  const settings = settingsOf(notes);
  const [first, second] = settings;
  if (first === undefined) return "";
  const said = settings.map((each, index) => rangeText(each, index === 0));
  const sentence = `The ${measure} ${andList(said)}.`;
  if (second === undefined) return sentence;
  const [low, high] = first.median <= second.median ? [first, second] : [second, first];
  const isApart = (low.values.at(-1) ?? 0) < (high.values[0] ?? 0);
  if (!isApart) return `${sentence} The ranges overlap, so the setting alone does not explain the difference.`;
  const factor = high.median / Math.max(low.median, Number.EPSILON);
  return `${sentence} ${capital(countOf(notes.length))} measurements, and not one of them falls into the range of the other setting: the middle values differ by a factor of ${rounded(factor)}.`;
}

interface Range {
  readonly setting: string;
  readonly unit: string;
  readonly notes: readonly FigureNote[];
  readonly values: readonly number[];
  readonly median: number;
}

/** The figures of a measure by setting, the best supported setting first. */
function settingsOf(notes: readonly FigureNote[]): readonly Range[] {
  const names = [...new Set(notes.map(({ said }) => said.setting))];
  return names
    .map((setting) => {
      const here = notes
        .filter(({ said }) => said.setting === setting)
        .toSorted((one, other) => one.said.value - other.said.value);
      const values = here.map(({ said }) => said.value);
      const median = values[Math.floor((values.length - 1) / 2)] ?? 0;
      return { setting, unit: here[0]?.said.unit ?? "", notes: here, values, median };
    })
    .toSorted((one, other) => other.values.length - one.values.length || (one.setting < other.setting ? -1 : 1));
}

function rangeText({ setting, unit, notes, values }: Range, isFirst: boolean): string {
  const amount = between(values, unit);
  const links = cite(notes.map(({ link }) => link));
  return `${isFirst ? "was " : ""}${amount} ${setting}${links}`;
}

const rounded = (factor: number): string => (factor < 10 ? factor.toFixed(1) : String(Math.round(factor)));

/** One question: what most studies find, who disagrees, and what may explain it. */
function dispute({ majority, minority, reasons }: Position): string {
  const many = majority.notes.length;
  const few = minority?.notes.length ?? 0;
  const found = `${majority.words}${cite(majority.notes.map(({ link }) => link))}`;
  if (minority === null) {
    return many === 1
      ? `Only ${majority.notes[0]?.label ?? "one study"} asks a further question, and finds that ${found}.`
      : `On one point ${many === 2 ? "both studies" : `all ${countOf(many)} studies`} that looked agree: ${found}.`;
  }
  const against = `${andSubject(minority.notes)} instead that ${minority.words}${cite(minority.notes.map(({ link }) => link))}`;
  const balance =
    many === few
      ? `The studies are divided, ${countOf(many)} against ${countOf(few)}. ${andSubject(majority.notes)} that`
      : `${capital(countOf(many))} of ${countOf(many + few)} studies find that`;
  const reason = reasons.at(-1);
  const why =
    reason === undefined
      ? "None of them says where the difference comes from."
      : `${reason.label} ${isOne(reason.label) ? "suggests" : "suggest"} that the difference may come from ${reason.said.reason}${cite(reasons.filter(({ said }) => likeness(said.reason, reason.said.reason) === 1).map(({ link }) => link))}.`;
  return `${balance} ${found}. ${against}. ${why}`;
}

/** The authors with their verb: `Petrov (2018) finds`, `Petrov (2018) and Osei (2019) find`. */
function andSubject(notes: readonly Note[]): string {
  const labels = notes.map(({ label }) => label);
  return `${andList(labels)} ${labels.length === 1 && isOne(labels[0] ?? "") ? "finds" : "find"}`;
}

const isOne = (label: string): boolean => !/ and | et al/.test(label);

/** What the studies say against themselves, each limitation once. */
function caution(notes: readonly Note[]): string {
  const limits = ofKind(notes, "limit");
  const words = [...new Set(limits.map(({ said }) => said.words))];
  if (words.length === 0) return "";
  const said = words.map((each) => {
    const who = limits.filter(({ said: { words: other } }) => other === each);
    return `that ${each}${cite(who.map(({ link }) => link))}`;
  });
  return `The authors themselves caution ${andList(said)}.`;
}

/** The answer that most studies give, with its support. The clearest of the subject's questions stands for it. */
function leadOf(positions: readonly Position[], notes: readonly Note[]): string {
  const [first] = positions.toSorted((one, other) => supportOf(other) - supportOf(one));
  if (first === undefined) return `${capital(plural(notes.length, "note", "notes"))}, and no finding.`;
  const { majority } = first;
  const all = majority.notes.length + (first.minority?.notes.length ?? 0);
  const support = `(${countOf(majority.notes.length)} of ${countOf(all)} studies)`;
  const isDivided = majority.notes.length * 2 === all;
  return isDivided
    ? `Studies are divided over whether ${majority.words} ${support}.`
    : `${capital(majority.words)} ${support}.`;
}

const supportOf = ({ majority, minority }: Position): number => majority.notes.length - (minority?.notes.length ?? 0);
