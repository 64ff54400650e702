/** Keyed seals: what a forger writes is named. */
import type { Change, Mutant } from "./mutant.ts";

const without = (rule: string, change: Change, file = "test/history/keyed-seal.test.ts"): Mutant => ({
  name: `seals: ${rule}`,
  changes: [change],
  killedBy: { kind: "tests", file },
});

const VOUCH = "src/history/vouch.ts";
const CODEC = "src/codec/voucher.ts";

export const SEALING: readonly Mutant[] = [
  without("any seal is genuine", {
    file: CODEC,
    from: "found?.length === expected?.length && timingSafeEqual(found as Buffer, expected as Buffer)",
    to: "found?.length === expected?.length",
  }),
  without("a seal of one kind is one of another", {
    file: CODEC,
    from: "update(`cairn ${what}\\n${digest}`)",
    to: "update(`cairn\\n${digest}`)",
  }),
  without("a run whose newest seal was taken away goes on", {
    file: VOUCH,
    from: "if (before.sealedBy !== undefined) throw",
    to: "if (before === null) throw",
  }),
  without("a run without seals goes on where they are required", {
    file: VOUCH,
    from: 'world.sealKeys.mode === "required") throw',
    to: 'world.sealKeys.mode === "off") throw',
  }),
  without("a journal without a seal follows a sealed snapshot", {
    file: "src/history/verify-seals.ts",
    from: "else if (this.#isNewestSealed)",
    to: "else if (this.#isNewestSealed === null)",
  }),
  without("a process without a key writes into a sealed run", {
    file: VOUCH,
    from: 'if (sealedBy === undefined || sealKeys.mode !== "off") return;',
    to: "if (sealedBy !== null) return;",
  }),
  without("a short key is taken", {
    file: CODEC,
    from: "const KEY_BYTES_MIN = 32;",
    to: "const KEY_BYTES_MIN = 1;",
  }),
  without(
    "a data key of another KMS key counts",
    {
      file: "src/adapters/aws/seal-keys.ts",
      from: "new DecryptCommand({ KeyId: kmsKey, CiphertextBlob",
      to: "new DecryptCommand({ CiphertextBlob",
    },
    "test/adapters/aws/seal-keys.test.ts",
  ),
];
