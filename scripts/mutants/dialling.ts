/** What the dial may never break, each rule switched off once. */
import { type Mutant, off } from "./mutant.ts";

const EDGE = "src/engine/tools/deferred-commit.ts";
const DIAL = "src/core/policy/dial.ts";

export const DIALLING: readonly Mutant[] = [
  off(70, "a plan waits where nobody could tell that the model was asked", {
    file: EDGE,
    from: "|| !ASKING.has(row.phase)",
    to: "|| !row.phase",
  }),
  off(71, "a reply waits while the next one is asked for", {
    file: EDGE,
    from: "pending.events.some(isReply)",
    to: "pending.every(isReply)",
  }),
  off(72, "a plan waits also after a death", {
    file: EDGE,
    from: "if (!pending.events.every(({ kind }) => CALM.has(kind))) return false;",
    to: "if (CALM.size === 0) return false;",
  }),
  {
    name: "a keyed call is started under a plan that waits",
    changes: [{ file: DIAL, from: "if (outside > 0)", to: "if (outside > 1)" }],
    killedBy: { kind: "tests", file: "test/core/dial.test.ts", test: "acts outside" },
  },
  {
    name: "a lost reply of a plan that waited costs nothing",
    changes: [{ file: "src/engine/context/unaccounted-model-calls.ts", from: "others: asks - own,", to: "others: 0," }],
    killedBy: { kind: "simulation", seeds: 400 },
  },
  {
    name: "the dial does not weigh what a reply costs",
    changes: [{ file: DIAL, from: "if (!isCheap)", to: "if (!isCheap && effects.length > 99)" }],
    killedBy: { kind: "tests", file: "test/core/dial.test.ts" },
  },
];
