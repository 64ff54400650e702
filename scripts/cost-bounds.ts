/** `same`: one process makes all invocations of a run. `new`: each invocation is a new process. */
type Bound = Readonly<Record<"same" | "new", number>>;

/** The maximum cost of 1,000 beats, by beats per invocation: dollars measured on 2026-11-25, plus 3 %. */
const COUNTED: ReadonlyMap<number, Bound> = new Map([
  [1, { same: 0.0343, new: 0.037 }],
  [10, { same: 0.0064, new: 0.0066 }],
  [25, { same: 0.0046, new: 0.0047 }],
  [50, { same: 0.0042, new: 0.0042 }],
]);

const MORE = 1.03;

export const BOUNDS: ReadonlyMap<number, Bound> = new Map(
  [...COUNTED].map(([beatsPerInvocation, dollars]) => [
    beatsPerInvocation,
    { same: dollars.same * MORE, new: dollars.new * MORE },
  ]),
);

/** Describes a cost that exceeds its bound or has none; null if it is within its bound. */
export function tooDear(beatsPerInvocation: number, process: keyof Bound, dollars: number): string | null {
  const bound = BOUNDS.get(beatsPerInvocation)?.[process];
  if (bound === undefined) return `there is no bound for ${beatsPerInvocation} beats of an invocation`;
  if (dollars <= bound) return null;
  return (
    `1,000 beats, ${beatsPerInvocation} of an invocation in a ${process === "same" ? "process that stays" : "new process"}, cost $${dollars.toFixed(5)}: more than $${bound.toFixed(5)}. ` +
    "Find the request that was added in the table above; if it has to be, raise the bound in scripts/cost-bounds.ts"
  );
}
