/** How a review words counts, lists and ranges. */

const NUMBERS = [
  ...["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
  ...["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"],
];

/** A small number in words. */
export const countOf = (count: number): string => NUMBERS[count] ?? String(count);

/** The number that `countOf` worded. */
export const numberIn = (words: string): number => (NUMBERS.includes(words) ? NUMBERS.indexOf(words) : Number(words));

export const plural = (count: number, one: string, many: string): string =>
  `${countOf(count)} ${count === 1 ? one : many}`;

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** `a`, `a and b`, `a, b and c`. */
export function andList(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}

/** `6 percent`, or `between 4 and 9 percent`. The values are sorted. */
export function between(values: readonly number[], unit: string): string {
  const [low, high] = [values[0] ?? 0, values.at(-1) ?? 0];
  const amount = low === high ? String(low) : `between ${low} and ${high}`;
  return unit === "" ? amount : `${amount} ${unit}`;
}
