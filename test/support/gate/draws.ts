/**
 * Where the draws of random tests begin: from one fixed seed in the gate, so that no change is refused for an unlucky
 * draw, and from a new one at night. `npm run verify -- --full` sets `CAIRN_SEED` to the date. `CAIRN_SEED=2026-11-28
 * npx vitest run FILE` repeats the draws of that night.
 *
 * These tests draw by chance: those that use fast-check (`seeds.ts`), the simulation (`npm run sim -- --night DATE`), the
 * storm, the flips of a store's file, and the kills and throttles of the tests with LocalStack. The seeds of
 * `test/slow/process/chaos.test.ts` are no draws: each is chosen for the places of its kills.
 */
import { createHash } from "node:crypto";

/** The environment variable that names the seed of a night. */
const SEED_VARIABLE = "CAIRN_SEED";

/** The seed of the gate. */
const GATE_SEED = "gate";

/** The seed of this run of the tests. */
export const seedOfRun = (env: NodeJS.ProcessEnv = process.env): string => env[SEED_VARIABLE] || GATE_SEED;

/** The seed of one test in this run, as a text. */
export const seedFor = (test: string): string => `${seedOfRun()}/${test}`;

/** A seed as a whole number from 1 to 2^31 - 2, for generators that take a number. */
export const numberFrom = (seed: string): number =>
  1 + (Number.parseInt(createHash("sha256").update(seed).digest("hex").slice(0, 8), 16) % 2_147_483_646);
