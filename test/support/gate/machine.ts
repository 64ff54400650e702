/**
 * Measures the machine once per test run, in the process that reads the configuration, before a worker starts. The
 * workers get the factor in their environment, so that their `LIMITS` are those of the configuration.
 */
import { FACTOR_VARIABLE, measureMachine } from "./limits.ts";

process.env[FACTOR_VARIABLE] ??= String(measureMachine());
