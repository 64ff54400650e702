/**
 * Measures the machine once per test run, in the process that reads the configuration, before a worker starts. The
 * workers get the factor in their environment, so that their `LIMITS` are those of the configuration.
 */
import { FACTOR_VARIABLE, limitsAt, measureMachine } from "./limits.ts";

const factor = (process.env[FACTOR_VARIABLE] ??= String(measureMachine()));

/** The limits of this test run. */
export const MEASURED_LIMITS = limitsAt(Number(factor));
