/** What the palette finds for a text. */
import type { ActionName } from "./actions.ts";

export interface Findable {
  readonly title: string;
  readonly says: string;
  /** An action of the run that the page shows. */
  readonly action?: ActionName;
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

const FOUND_MAX = 12;

/** All words of the text must occur; what begins with the text comes first. */
export function findAmong(all: readonly Findable[], text: string): readonly Findable[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return all.slice(0, FOUND_MAX);
  const words = wanted.split(/\s+/);
  const hits = all.filter((each) => words.every((word) => `${each.title} ${each.says}`.toLowerCase().includes(word)));
  const [front, rest] = [
    hits.filter(({ title }) => title.toLowerCase().startsWith(wanted)),
    hits.filter(({ title }) => !title.toLowerCase().startsWith(wanted)),
  ];
  return [...front, ...rest].slice(0, FOUND_MAX);
}
