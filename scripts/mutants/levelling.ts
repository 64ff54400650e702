/** Rules for two versions of cairn on one store, each switched off once. */
import { type Change, type Mutant, off } from "./mutant.ts";

const CLAIM = "src/protocol/row-claim.ts";
const BEHIND = 'return isMine ? newerLevel(row, levelIn(claim)) : { kind: "superseded", row };';
const LEVELS = "if (levelIn(row) > levelIn(claim)) return isMine";

const by = (name: string, test: string, change: Change): Mutant => ({
  name: `levels: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${test}.test.ts` },
});

export const LEVELLING: readonly Mutant[] = [
  off(102, "the level is no part of a claim", { file: CLAIM, from: LEVELS, to: "if (levelIn(row) < 0) return isMine" }),
  off(102, "a process that is behind takes its run for superseded", {
    file: CLAIM,
    from: BEHIND,
    to: 'return { kind: "superseded", row };',
  }),
  off(103, "a process that is behind leads to the epoch that it came with", {
    file: "src/engine/loop/behind.ts",
    from: "at?.epoch ?? epoch",
    to: "epoch",
  }),
  by("a state loses what is not known", "codec/skew-fields", {
    file: "src/codec/schema/state.ts",
    from: "export const storedState: z.ZodType<StoredState> = z.looseObject({",
    to: "export const storedState: z.ZodType<StoredState> = z.object({",
  }),
  by("an open call loses what is not known", "codec/skew-fields", {
    file: "src/codec/schema/state.ts",
    from: "const openCall: z.ZodType<OpenCall> = z.looseObject({",
    to: "const openCall: z.ZodType<OpenCall> = z.object({",
  }),
  by("what was spent loses what is not known", "codec/skew-fields", {
    file: "src/core/policy/budget.ts",
    from: "    ...spent,\n",
    to: "",
  }),
  by("an outage loses what is not known", "codec/skew-fields", {
    file: "src/core/policy/outage.ts",
    from: "    ...rest,\n    since,",
    to: "    since,",
  }),
  by("a process goes on with what it cannot read", "engine/loop/skew", {
    file: "src/codec/row.ts",
    from: "return levelIn(row) > known ? new RowNewer",
    to: "return levelIn(row) > known + 9 ? new RowNewer",
  }),
  by("the end of a newer run is told by an older process", "engine/loop/skew", {
    file: "src/engine/loop/terminal-commit.ts",
    from: " || newerBy(row.run, row) !== null) return;",
    to: ") return void newerBy;",
  }),
  by("a beat that is behind does not wait longer each time", "engine/loop/skew", {
    file: "src/engine/loop/behind.ts",
    from: "Math.ceil(waitedMs / 1_000)",
    to: "1",
  }),
  by("an execution waits for a newer version with the old code", "infra/machine", {
    file: "src/adapters/aws/machine-input.ts",
    from: "const next = behind || ",
    to: "const next = ",
  }),
];
