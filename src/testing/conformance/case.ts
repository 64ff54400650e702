/**
 * A conformance case: one claim of a port's contract, and the steps that check it. Cases depend on no test framework:
 * the test runner passes a fresh world, and a violation throws an error that says what was expected.
 */
import assert from "node:assert/strict";
import type { Row } from "../../protocol/row.ts";
import type { Ambiguous } from "../../ports/run-table.ts";

/** One case: `name` is the claim; `run` rejects if the world violates it. */
export interface Case<World> {
  readonly name: string;
  readonly run: (world: World) => Promise<void>;
}

/** Throws `violated: what` unless the condition holds. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new assert.AssertionError({ message: `violated: ${what}`, actual: false, expected: true });
}

export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  // Worlds return bytes as different array types, so compare their content.
  assert.deepEqual(plain(actual), plain(expected), `violated: ${what}: ${shown(actual)} instead of ${shown(expected)}`);
}

const COPIES_MAX = 100;

/** Sends the same write until its outcome is not ambiguous. The contract does not limit how often that is needed. */
export async function insist<O extends { readonly kind: string }>(write: () => Promise<O>): Promise<Sure<O>> {
  for (let copy = 0; copy < COPIES_MAX; copy += 1) {
    const outcome = await write();
    if (outcome.kind !== "ambiguous") return outcome as Sure<O>;
  }
  throw new Error(`a write was sent ${COPIES_MAX} times and every outcome was ambiguous`);
}

type Sure<O> = Exclude<O, Ambiguous>;

/** The row of the outcome, which must be of that kind. */
export async function rowOf<O extends { readonly kind: string }>(
  write: () => Promise<O>,
  kind: Exclude<O["kind"], "ambiguous" | "missing">,
): Promise<Row> {
  const outcome = await insist(write);
  mustEqual(outcome.kind, kind, "the outcome");
  return (outcome as unknown as { readonly row: Row }).row;
}

export async function mustBe<O extends { readonly kind: string }>(
  write: () => Promise<O>,
  kind: Exclude<O["kind"], "ambiguous">,
): Promise<void> {
  mustEqual((await insist(write)).kind, kind, "the outcome");
}

const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
};

const shown = (value: unknown): string => {
  const text = JSON.stringify(plain(value)) ?? String(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
};

const SHOWN_MAX = 300;
