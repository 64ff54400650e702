/**
 * What this cairn refuses by name although it is undamaged: what was written before the first release, and what another
 * cairn wrote while the stored forms change freely (docs/upgrades.md). No later version reads it, so it is not `newer`.
 */
import { FINGERPRINT } from "./fingerprint.ts";

/** The last commit that reads and writes the formats from before the first release. */
const LAST_COMMIT = "77840092";

/** `BeforeFirstRelease`: an older format. `OtherSchemas`: this format, with another fingerprint. */
export type ForeignCode = "BeforeFirstRelease" | "OtherSchemas";

/** `says` goes on after the name of what was written. */
export interface Foreign {
  readonly code: ForeignCode;
  readonly says: string;
}

export const OTHER_SCHEMAS: Foreign = {
  code: "OtherSchemas",
  says: `was written by a cairn with other stored forms than this one (${FINGERPRINT}); finish its runs with that version`,
};

export const BEFORE_RELEASE: Foreign = {
  code: "BeforeFirstRelease",
  says: `was written by a cairn before its first release; finish its runs with that version (commit ${LAST_COMMIT})`,
};
