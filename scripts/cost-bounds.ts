/** The maximum cost of 1,000 beats, by beats per invocation: dollars measured on 2026-11-22, plus 3 %. */
const COUNTED: ReadonlyMap<number, number> = new Map([
  [1, 0.0356],
  [10, 0.0083],
  [25, 0.0066],
  [50, 0.006],
]);

const MORE = 1.03;

export const BOUNDS: ReadonlyMap<number, number> = new Map(
  [...COUNTED].map(([beatsPerInvocation, dollars]) => [beatsPerInvocation, dollars * MORE]),
);

/** Describes a cost that exceeds its bound or has none; null if it is within its bound. */
export function tooDear(beatsPerInvocation: number, dollars: number): string | null {
  const bound = BOUNDS.get(beatsPerInvocation);
  if (bound === undefined) return `there is no bound for ${beatsPerInvocation} beats of an invocation`;
  if (dollars <= bound) return null;
  return (
    `1,000 beats, ${beatsPerInvocation} of an invocation, cost $${dollars.toFixed(5)}: more than $${bound.toFixed(5)}. ` +
    "Find the request that was added in the table above; if it has to be, raise the bound in scripts/cost-bounds.ts"
  );
}
