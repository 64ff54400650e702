/**
 * What a test plays of all that it could: everything, as each night does, or a sample, as the gate does. `npm run verify`
 * sets the variable, and the night leaves it out (scripts/verify/steps.ts), as does everyone who types `npx vitest run FILE`.
 *
 * The sample of a test is the smallest that finds a break of each kind that all of it finds
 * (docs/adr/0143-what-the-gate-samples.md).
 */
import { type TestContext, test } from "vitest";

/**
 * Of the faults, zombies and flipped bits that a test could play, one in so many; 1 plays every one. Whatever it is, an
 * enumeration of faults plays the first of each kind at each kind of call.
 */
export const STRIDE = strideIn(process.env["CAIRN_STRIDE"]);

/** Of the points at which a process may freeze, one in so many, beside the first at each kind of call. */
export const FROZEN_POINTS = STRIDE === 1 ? 1 : 8;

/** A number of kills or runs, or a list of cases: `sample` in the gate, `all` wherever everything is played. */
export const sampled = <T>(sample: T, all: T): T => (STRIDE === 1 ? all : sample);

/** A test that is played wherever everything is played, and not in the gate. Its file has others. */
export const nightTest = sampled<(name: string, body: (context: TestContext) => unknown) => void>(() => {}, test);

function strideIn(text = "1"): number {
  if (!/^[1-9]$/.test(text)) throw new Error(`CAIRN_STRIDE is a number from 1 to 9, not ${JSON.stringify(text)}`);
  return Number(text);
}
