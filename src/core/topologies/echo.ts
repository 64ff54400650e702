/** Recognises a worker that gives its task back instead of a memo. */
import type { Json } from "../json.ts";
import { editDistance } from "./edit-distance.ts";

/** Texts that differ by at most this share of their words say the same. */
const SAME_MAX = 0.1;

/** Shorter texts have to be equal: the answer to a short question may be the question and one word. */
const WORDS_MIN = 12;

/** A sentence that leads in to a text has no more words, such as *sure, here is the memo that you asked for*. */
const LEAD_WORDS_MAX = 12;

/** Fewer words name a subject, and an answer may name it, too: *on printers*. */
const TASK_WORDS_MIN = 3;

/** Among so many first words of the task is the first one of its repetition. */
const FIRST_WORDS = 3;

/** The words of such a sentence. Before a short task no other ones may stand: they could be the answer to it. */
const LEAD_WORDS = new Set(
  (
    "a about all and answer are as asked below certainly course done for follow following follows from great happy hello " +
    "here hi i in is it ll me memo my note of ok okay on please question received repeat request requested result report " +
    "s so summary sure task thank thanks that the there this to understood was welcome will with work you your"
  ).split(" "),
);

/** Why a worker has lost its task, by its answer; null: it has not. `mayEcho`: the answer may repeat the task. */
export function whyLost({
  task,
  answer,
  mayEcho,
}: {
  readonly task: Json;
  readonly answer: Json;
  readonly mayEcho: boolean;
}): string | null {
  if (answer === null || answer === "") return "it gave no answer";
  return !mayEcho && isEcho(task, answer) ? "it gave its task back" : null;
}

/**
 * Whether the answer repeats the texts of the task, apart from letter case, punctuation, a few words, and a sentence that
 * leads in to it.
 */
export function isEcho(task: Json, answer: Json): boolean {
  const [asked, said] = [textsIn(task), textsIn(answer)];
  if (said.length === 0) return false;
  const whole = said.join(" ");
  return [...asked, asked.join(" ")].some((text) => repeats(text, whole));
}

function repeats(task: string, answer: string): boolean {
  const [one, other] = [normal(task), normal(answer)];
  if (one === "") return false;
  if (one === other) return true;
  const [asked, said] = [one.split(" "), other.split(" ")];
  const isLong = asked.length >= WORDS_MIN;
  if (isLong && editDistance(one, other) <= SAME_MAX) return true;
  return isLong ? repeatsAfterLead(asked, said) : isShortAfterLead(asked, said);
}

/** The lead names no figure: that would be an answer. */
function repeatsAfterLead(asked: readonly string[], said: readonly string[]): boolean {
  const task = asked.join(" ");
  const slack = Math.floor(asked.length * SAME_MAX);
  const leadMax = Math.min(LEAD_WORDS_MAX, said.length - asked.length + slack);
  for (let lead = Math.max(1, said.length - asked.length - slack); lead <= leadMax; lead += 1) {
    if (said.slice(0, lead).some((word) => /\p{N}/u.test(word))) return false;
    // Comparing takes long for long texts. A task that is repeated begins with one of its first words.
    const mayBegin = asked.slice(0, FIRST_WORDS).includes(said[lead] ?? "");
    if (mayBegin && editDistance(task, said.slice(lead).join(" ")) <= SAME_MAX) return true;
  }
  return false;
}

function isShortAfterLead(asked: readonly string[], said: readonly string[]): boolean {
  const lead = said.length - asked.length;
  if (
    asked.length < TASK_WORDS_MIN ||
    lead < 1 ||
    lead > LEAD_WORDS_MAX ||
    said.slice(lead).join(" ") !== asked.join(" ")
  )
    return false;
  return said.slice(0, lead).every((word) => LEAD_WORDS.has(word));
}

const normal = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** All texts and numbers in the value, in order. */
function textsIn(json: Json): readonly string[] {
  if (json === null) return [];
  if (typeof json !== "object") return [String(json)];
  return Object.values(json as { readonly [name: string]: Json }).flatMap(textsIn);
}
