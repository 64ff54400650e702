/** Rules about a model's provider that gives no answers, each switched off once. */
import { type Mutant, off } from "./mutant.ts";

const CORE = "src/core/policy/outage.ts";
const CALLS = "src/engine/context/unaccounted-model-calls.ts";
const RUNNER = "src/engine/model/provider-outage.ts";

/** Killed by a test of that file. */
const by = (file: string, name: string, change: Mutant["changes"][number]): Mutant => ({
  name: `outages: ${name}`,
  changes: [change],
  killedBy: { kind: "tests", file: `test/${file}.test.ts` },
});

export const PROVIDERS: readonly Mutant[] = [
  off(85, "a model is asked early before the row says so", {
    file: CALLS,
    from: "others: asks - own,",
    to: "others: 0,",
  }),
  off(
    86,
    "a fallback is asked without a mark",
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
  by("core/outage", "a run gives up after the quick retries", {
    file: "src/core/policy/recovery.ts",
    from: "when: (_, trouble) => onTerms(trouble, () => true),",
    to: "when: (_, trouble) => onTerms(trouble, ({ chance }) => chance < 0),",
  }),
  by("core/outage", "pauses grow without a cap", {
    file: CORE,
    from: "Math.min(BOUNDS.outagePauseMsMax, BOUNDS.outagePauseMsMin",
    to: "Math.max(0, BOUNDS.outagePauseMsMin",
  }),
  by("core/outage", "all runs ask in step", { file: CORE, from: "terms.chance * ceiling", to: "ceiling" }),
  by("core/outage", "retry-after is not heard", {
    file: CORE,
    from: "Math.max(now, outage.notBefore ?? 0) + pause",
    to: "now + pause",
  }),
  by("core/outage", "a provider that asks for a week outlasts the outage", {
    file: CORE,
    from: "return { at: Math.min(at, endOf(state, terms.outageMaxMs, now)), outage };",
    to: "return { at, outage };",
  }),
  by("core/outage", "each failure begins an outage of its own", {
    file: CORE,
    from: "const since = outage?.since ?? now;",
    to: "const since = now;",
  }),
  by("core/outage", "an outage goes on after an answer", {
    file: CORE,
    from: "const { outage, fallback, ...rest } = state;\n  if (outage === undefined && fallback === undefined) return state;",
    to: "const { outage, fallback, ...rest } = state;\n  if (rest.calls >= 0) return state;",
  }),
  by("core/outage", "whoever wakes a run has a provider asked before it wants to be", {
    file: CORE,
    from: "const at = Math.max(now, outage.notBefore ?? 0);\n  return",
    to: "const at = now;\n  return",
  }),
  by("core/outage", "a fallback that answered is never left", {
    file: CORE,
    from: "now < fallback.until ? fallback.model",
    to: "now > 0 ? fallback.model",
  }),
  by("engine/model/outage", "words change nothing", {
    file: "src/engine/loop/beat.ts",
    from: "!isWoken || !triesSooner(run)",
    to: "!isWoken || isWoken",
  }),
  by("engine/model/outage", "the operator is told at each try", {
    file: RUNNER,
    from: " || before.outage?.alarmed === true) return;",
    to: ") return;",
  }),
  by("engine/model/outage", "what a run did is undone", {
    file: "src/engine/tools/compensation.ts",
    from: "isOutage ? agent.saga.onOutage : agent.saga.onFailure",
    to: "agent.saga.onFailure",
  }),
  by("engine/model/fallback", "a fallback is paid for by the price of the agent's own model", {
    file: RUNNER,
    from: "model: declared.model, price, priceFrom }",
    to: "model: declared.model, ...(price === null ? { price, priceFrom } : {}) }",
  }),
  {
    name: "outages: the whole outage fails the run",
    changes: [
      {
        file: "src/core/policy/outage.ts",
        from: "now >= endOf(state, outageMaxMs, now)",
        to: "state.modelRetries > 2 && outageMaxMs > 0 && now > 0",
      },
    ],
    killedBy: { kind: "simulation", seeds: 100 },
  },
];
