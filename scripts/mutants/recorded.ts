/** The checkers of what a run has recorded, each with one look less: what it does not look at has to be missed by its test. */
import type { Mutant, Suite } from "./mutant.ts";

const VERIFY = "src/history/verify.ts";
const REPLAY = "src/history/replay.ts";
const RECORDING = "src/history/recording.ts";
const READER = "src/history/reader.ts";

const by = (file: string, test: string): Suite => ({ kind: "tests", file: `test/${file}.test.ts`, test });

export const RECORDED: readonly Mutant[] = [
  {
    name: "verify compares no state with its commits",
    changes: [{ file: VERIFY, from: "if (!isSame) inspection.found(", to: "if (Number.isNaN(0)) inspection.found(" }],
    killedBy: by("history/verify", "whose state is not the fold of its commits"),
  },
  {
    name: "a damaged snapshot hides the sealed events",
    changes: [{ file: READER, from: "yield link;\n      break;", to: "yield link;\n      return;" }],
    killedBy: by("history/reader", "of the journal or a snapshot is a piece"),
  },
  {
    name: "every snapshot is read for its commits",
    changes: [{ file: READER, from: "Math.max(after, newest?.to ?? 0)", to: "after" }],
    killedBy: by("history/reader", "comes to the same commits on each way"),
  },
  {
    name: "verify adds up no debits",
    changes: [{ file: VERIFY, from: "if (chain.isWhole) checkDebits(", to: "if (Number.isNaN(0)) checkDebits(" }],
    killedBy: by("history/verify-advice", "began with something spent"),
  },
  {
    name: "verify does not know the task",
    changes: [
      { file: VERIFY, from: "json === null || digestOf(json.json) ===", to: "json !== null || digestOf(json) ===" },
    ],
    killedBy: by("history/verify", "with another task is found"),
  },
  {
    name: "replay compares with no snapshot",
    changes: [{ file: REPLAY, from: "if (fields.length > 0) {", to: "if (fields.length < 0) {" }],
    killedBy: by("history/replay", "where a snapshot holds another state"),
  },
  {
    name: "replay believes what the row says",
    changes: [{ file: REPLAY, from: "isWhole ? wrongAtEnd(", to: "Number.isNaN(0) ? wrongAtEnd(" }],
    killedBy: by("history/replay", "where the row has another phase"),
  },
  {
    name: "replay takes commits of fenced epochs",
    changes: [{ file: "src/history/agreement.ts", from: "if (epoch < before.epoch)", to: "if (epoch < 0)" }],
    killedBy: by("history/replay", "where a commit was changed"),
  },
  {
    name: "a file is believed whatever its lines are",
    changes: [{ file: "src/codec/archive.ts", from: "each.digest !== undefined && ", to: "Number.isNaN(0) && " }],
    killedBy: by("history/replay", "is not believed with a line changed"),
  },
  {
    name: "a large value is believed whatever its name is",
    changes: [{ file: RECORDING, from: "digestOf(json) !== digest", to: "Number.isNaN(0)" }],
    killedBy: by("history/replay", "with another blob is found"),
  },
  {
    name: "requests are the same whatever tools they offer",
    changes: [
      { file: "src/operations/replay-against.ts", from: "...instructions, ...tools, ", to: "...instructions, " },
    ],
    killedBy: by("history/against", "says which: new, changed"),
  },
];
