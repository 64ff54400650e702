/** Rules about contexts that are too long, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const COMPACT = "src/engine/model/compaction.ts";
const STRETCH = "src/engine/model/compaction-range.ts";

/** Killed by a test of that file. */
const by = (file: string, name: string, change: Mutant["changes"][number]): Mutant => ({
  name: `compacting: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts` },
});

export const COMPACTING: readonly Mutant[] = [
  off(
    73,
    "an invocation asks on with its summary, and no mark says so",
    {
      file: "src/engine/model/call-model.ts",
      from: 'if (run.pending.modelCalls.own === "marked") return false;',
      to: "if (run.now > 0) return false;",
    },
    {
      file: "src/engine/context/pending-work.ts",
      from: 'ensure(this.#modelCalls.own === "marked",',
      to: "ensure(this.#time.since > 0,",
    },
  ),
  by("engine/model/compact", "a context is made shorter again and again", {
    file: STRETCH,
    from: "if (isCompacted(messages)) return null;",
    to: "",
  }),
  by("engine/model/compact", "a summary is not debited", {
    file: COMPACT,
    from: "  debitReply(run, agent, { tokensIn, tokensOut, model, isBeat: false });\n  return wrong",
    to: "  return wrong",
  }),
  by("engine/model/compact", "a summary that does not help is taken", {
    file: COMPACT,
    from: "return words.length < replaces ? null",
    to: "return words.length > 0 ? null",
  }),
  by("engine/model/compact", "whoever writes a summary may call tools", {
    file: COMPACT,
    from: "mayCall: false",
    to: "mayCall: true",
  }),
  by("engine/model/compact", "loops are looked for in what is shown", {
    file: "src/engine/model/call-model.ts",
    from: "loopOf(ofAttempt(run.state))",
    to: "loopOf(run.state.messages.slice(run.state.window?.from ?? 0))",
  }),
  by("engine/model/compact", "a summary is paid for that stands for next to nothing", {
    file: "src/engine/model/compaction-trigger.ts",
    from: "stretch === null || !isWorthIt(stretch)",
    to: "stretch === null",
  }),
  by("property/window", "the last reply is cut away", {
    file: STRETCH,
    from: "return replies.find(fits) ?? last;",
    to: "return last + 1;",
  }),
  by("core/stretch", "open calls are cut away", {
    file: STRETCH,
    from: "new Set([...open, ...undo].map(({ call }) => call))",
    to: "new Set(open.slice(1).map(({ call }) => call))",
  }),
  by("core/stretch", "words that nobody answered are cut away", {
    file: STRETCH,
    from: "read.slice(answered + 1)",
    to: "read.slice(read.length)",
  }),
];
