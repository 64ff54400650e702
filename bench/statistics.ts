/** The samples in ascending order. */
export const sorted = (samples: readonly number[]): readonly number[] => samples.toSorted((one, other) => one - other);

/** The median of the samples; of an even number, the upper of the two in the middle. NaN without samples. */
export const median = (samples: readonly number[]): number => sorted(samples)[Math.floor(samples.length / 2)] ?? NaN;
