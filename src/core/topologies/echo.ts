/** Recognises a worker that gives its task back instead of a memo (seed 4: lost handoff). */
import type { Json } from "../json.ts";
import { editDistance } from "./edit-distance.ts";

/** Texts that differ by at most this share of their words say the same. */
const SAME_MAX = 0.1;

/** Shorter texts have to be equal: the answer to a short question may be the question and one word. */
const WORDS_MIN = 12;

/** Whether the answer repeats the texts of the task, apart from letter case, punctuation and a few words. */
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
  return one.split(" ").length >= WORDS_MIN && editDistance(one, other) <= SAME_MAX;
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
