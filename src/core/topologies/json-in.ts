/** Reads what a model was asked to write as JSON. Models write text around it. */
import type { Json } from "../json.ts";

/** The JSON object in the text; null if there is none. */
export function objectIn(text: string): { readonly [name: string]: Json } | null {
  const [from, to] = [text.indexOf("{"), text.lastIndexOf("}")];
  if (from < 0 || to < from) return null;
  try {
    return JSON.parse(text.slice(from, to + 1)) as { readonly [name: string]: Json };
  } catch {
    return null;
  }
}

/** A judge's verdict: a score from 0 to 1, and why. */
export type Score = { readonly score: number; readonly why: string };

/** What a judge is asked to write. */
export const SCORE_FORMAT = 'Answer with JSON alone: {"score": a number from 0 to 1, "why": "one sentence"}.';

/** The score in a judge's reply; null if there is none. */
export function scoreIn(text: string): Score | null {
  const found = objectIn(text);
  const { score, why } = found ?? {};
  if (typeof score !== "number" || !(score >= 0 && score <= 1)) return null;
  return { score, why: typeof why === "string" ? why : "" };
}

/** How often a role is asked again for JSON that cannot be read. */
export const UNREADABLE_MAX = 2;
