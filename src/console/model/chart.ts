/** The geometry of a chart of steps: round ticks for its axes, and the outline of its values. */

/** The height of the plot in its own units. Its width is one unit for each value. */
export const PLOT_HEIGHT = 100;

/** More columns than pixels would only cost time: a column then stands for several values, with the highest of them. */
const COLUMNS_MAX = 600;

/** Round numbers from 0 to one that is at least `most`: about `count` steps of 1, 2 or 5 times a power of ten. */
export function ticksTo(most: number, count: number): readonly number[] {
  if (most <= 0) return [0];
  const step = roundUp(most / count);
  const steps = Math.ceil(most / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}

/** The places from 1 to `last` that the lower axis names: the first, and round ones with room between them. */
export function placesTo(last: number, count: number): readonly number[] {
  const step = Math.max(1, roundUp(last / count));
  const round = Array.from({ length: Math.floor(last / step) }, (_, index) => (index + 1) * step);
  return step === 1 ? round : [1, ...round];
}

/** The path of the values as steps, closed at the bottom. `top`: the value at the upper edge. */
export function outlineOf(values: readonly number[], top: number): string {
  const width = Math.ceil(values.length / COLUMNS_MAX);
  const parts = [`M0 ${PLOT_HEIGHT}`];
  for (let from = 0; from < values.length; from += width) {
    const highest = Math.max(...values.slice(from, from + width));
    const y = top > 0 ? PLOT_HEIGHT * (1 - highest / top) : PLOT_HEIGHT;
    parts.push(`V${Number(y.toFixed(3))}H${Math.min(values.length, from + width)}`);
  }
  return `${parts.join("")}V${PLOT_HEIGHT}Z`;
}

type Move = (from: { readonly at: number; readonly page: number; readonly last: number }) => number;

const MOVES: { readonly [key: string]: Move } = {
  ArrowRight: ({ at }) => at + 1,
  ArrowUp: ({ at }) => at + 1,
  ArrowLeft: ({ at }) => at - 1,
  ArrowDown: ({ at }) => at - 1,
  PageUp: ({ at, page }) => at + page,
  PageDown: ({ at, page }) => at - page,
  Home: () => 0,
  End: ({ last }) => last,
};

/** Which value a key leads to from `at`; null: the key means nothing here. */
export function placeAfter(key: string, at: number, length: number): number | null {
  const page = Math.max(1, Math.round(length / 10));
  const moved = MOVES[key]?.({ at, page, last: length - 1 });
  return moved === undefined ? null : Math.min(length - 1, Math.max(0, moved));
}

function roundUp(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return ([1, 2, 5].find((each) => each * power >= size * (1 - 1e-9)) ?? 10) * power;
}
