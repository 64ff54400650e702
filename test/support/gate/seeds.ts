/** A set-up file of vitest: every property of fast-check draws from the seed of this run (`draws.ts`). */
import fc from "fast-check";
import { numberFrom, seedOfRun } from "./draws.ts";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: numberFrom(seedOfRun()) });
