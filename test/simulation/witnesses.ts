/**
 * For the schedules of `docs/races.md` that a history can reach: how to see in it that the dangerous situation really
 * arose. Without such a witness nobody knows whether a simulation that finds nothing has looked. Each schedule has a test
 * of its own besides, which plays it step by step (`test/schedules`).
 */
import type { Witnesses } from "./observed-history.ts";
import { witnessesClaims } from "./witnesses-claims.ts";
import { witnessesEffects } from "./witnesses-effects.ts";
import { witnessesWrites } from "./witnesses-writes.ts";

export const WITNESSES: Witnesses = { ...witnessesClaims, ...witnessesEffects, ...witnessesWrites };
