/** The samples in ascending order. */
export const sorted = (samples: readonly number[]): readonly number[] => samples.toSorted((one, other) => one - other);

/** The median of the samples; of an even number, the upper of the two in the middle. NaN without samples. */
export const median = (samples: readonly number[]): number => sorted(samples)[Math.floor(samples.length / 2)] ?? NaN;

/** The sample that this share of them does not exceed, such as 0.99; the longest of a few. NaN without samples. */
export const percentile = (samples: readonly number[], share: number): number =>
  sorted(samples)[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? NaN;

/** The median with the least and the most, as the tables show them. */
export const spread = (samples: readonly number[], digits: number): string =>
  `${median(samples).toFixed(digits)} (${sorted(samples)[0]?.toFixed(digits)}–${sorted(samples).at(-1)?.toFixed(digits)})`;
