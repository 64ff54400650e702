/** How different two drafts are: the normalised edit distance of their words. */

/** From 0 (equal) to 1 (nothing in common). Very long drafts are compared line by line. */
export function editDistance(one: string, other: string): number {
  const [first, second] = [one, other].map((text) => text.trim().split(/\s+/)) as [string[], string[]];
  const isLong = Math.max(first.length, second.length) > WORDS_MAX;
  return isLong ? distanceOf(one.split("\n"), other.split("\n")) : distanceOf(first, second);
}

/** More words would take too long: the time grows with the square. */
const WORDS_MAX = 2_000;

function distanceOf(one: readonly string[], other: readonly string[]): number {
  const [first, second] = [one.slice(0, WORDS_MAX), other.slice(0, WORDS_MAX)];
  const longest = Math.max(first.length, second.length);
  let row = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (const [index, token] of first.entries()) {
    const next = [index + 1];
    for (const [at, against] of second.entries()) {
      const replaced = (row[at] ?? 0) + (token === against ? 0 : 1);
      next.push(Math.min(replaced, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return longest === 0 ? 0 : (row.at(-1) ?? 0) / longest;
}
