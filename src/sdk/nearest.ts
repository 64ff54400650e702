/** What a mistyped name was meant to be. */

/** The closest known name, or null if none is close enough to be a typing mistake. */
export function nearest(name: string, known: readonly string[]): string | null {
  const ranked = known.map((each) => ({ each, distance: distance(name.toLowerCase(), each.toLowerCase()) }));
  const [best] = ranked.toSorted((one, other) => one.distance - other.distance);
  return best !== undefined && best.distance <= Math.max(2, best.each.length / 2) ? best.each : null;
}

/** The Levenshtein distance: how many letters have to be changed, added or removed. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, against] of [...other].entries()) {
      const changed = (row[j] ?? 0) + (letter === against ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/** What to write in place of an option that there is not: the closest one, or the whole list. */
export function insteadOf(unknown: string, known: readonly string[]): string {
  const meant = nearest(unknown, known);
  return meant === null ? `take it out, or write one of ${known.toSorted().join(", ")}` : `did you mean ${meant}?`;
}
