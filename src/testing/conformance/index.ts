/**
 * `cairn-run/conformance`: the contract of the storage and chain ports, as cases for authors of new worlds. Run each case
 * with a fresh world of your ports; a case that throws names the violated claim.
 *
 * @example
 *   test.each(runTableCases)("RunTable: $name", ({ run }) => run(freshRunTableWorld()));
 */
import { childCases } from "./children.ts";
import { claimCases, createCases } from "./claims.ts";
import { commitCases, endCases } from "./commits.ts";
import { messageCases, requestCases } from "./messages.ts";
import type { Case } from "./case.ts";
import { damageCases } from "./damage.ts";
import { decisionCases } from "./decisions.ts";
import { fenceCases } from "./fences.ts";
import { levelCases } from "./levels.ts";
import { keyCases } from "./keys.ts";
import { redriveCases } from "./redrive.ts";
import { forgetCases, removalCases } from "./removal.ts";
import type { RunTableWorld } from "./run.ts";
import { turnCases } from "./mutex-leases.ts";
import { handOverCases, listCases, parkCases } from "./waiting.ts";

/** The contract of the ports `RunTable` and `Inbox`: create, decisions, messages, lists, removal, keys. */
export const runTableCases: readonly Case<RunTableWorld>[] = [
  ...createCases,
  ...claimCases,
  ...commitCases,
  ...endCases,
  ...messageCases,
  ...requestCases,
  ...parkCases,
  ...handOverCases,
  ...listCases,
  ...turnCases,
  ...removalCases,
  ...forgetCases,
  ...damageCases,
  ...keyCases,
  ...redriveCases,
  ...levelCases,
  ...childCases,
  ...fenceCases,
  ...decisionCases,
];
export { chainCases, type ChainWorld } from "./chain.ts";
export { deltaCases, type DeltasWorld } from "./deltas.ts";
export { memoryCases, type MemoriesWorld } from "./memory.ts";
export { recordCases, type RecordsWorld } from "./records.ts";
export { objectStoreCases, type ObjectStoreWorld } from "./object-store.ts";
export type { Case, RunTableWorld };
