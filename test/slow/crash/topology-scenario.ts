/**
 * The scenarios of recoveries: a gate sends a pipeline back, with and without an undo, a plan is replaced, a round
 * of a debate completes, and ReAct nears its cap. Each calls a keyed tool, so that a recovery that repeats work shows. Functions of the user are
 * points like calls of the model and of tools.
 */
import { z } from "zod";
import { topologyNamed } from "../../../src/features/topologies/core-table.ts";
import type { Agent, Tool, Topology } from "../../../src/ports/agent.ts";
import {
  type Conversation,
  type ScriptedReply,
  type ToolContext,
  debate,
  defineAgent,
  pipeline,
  planExecute,
  react,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import { eventsOfKind } from "../../simulation/replay.ts";
import type { History } from "../../simulation/history.ts";
import { type Gate, type RecordedEffect, type Services, SETTLE_MS, TIMEOUT_MS } from "./scenario.ts";

export const RECOVERIES = ["rollback", "replan", "round", "cap", "undone"] as const;
export type RecoveryScene = (typeof RECOVERIES)[number];

/** The cap of the scene that uses it up. */
export const CAP = 6;

const INPUT = z.object({ what: z.string() });
const TOKENS = { tokensIn: 10, tokensOut: 1 } as const;

/**
 * `forgets`: each process begins the topology anew, as if its progress were in memory, to see that a checker notices
 * fresh caps and rounds.
 */
export function recoveryServices(of: {
  readonly now: () => number;
  readonly scene: RecoveryScene;
  readonly forgets?: boolean;
}): Services {
  const { now, scene, forgets = false } = of;
  const effects: RecordedEffect[] = [];
  const counts = { closings: 0, replies: 0 };
  const agentIn = (gate: Gate): Agent => {
    const topology = TOPOLOGIES[scene](gate);
    const look = tool({ input: INPUT, effect: "none", run: () => "seen" });
    return defineAgent({
      ...{ name: "actor", version: "1", instructions: "", task: z.object({}) },
      model: scriptedModel({
        name: "script",
        reply: (conversation) => {
          const isClosing = mustStop(conversation);
          return gate(`model.${isClosing ? "closing" : "reply"}`, async () => {
            if (isClosing) counts.closings += 1;
            else counts.replies += 1;
            return { ...REPLIES[scene](conversation), ...TOKENS };
          });
        },
      }),
      tools: { keyed: scene === "undone" ? undoable({ gate, effects, now }) : keyed({ gate, effects, now }), look },
      topology: forgets ? forgetful(topology) : topology,
      budget: { beats: scene === "cap" ? CAP : 50, takeovers: 100, wall: "1h" },
      retention: { archive: "warm" },
    }) as Agent;
  };
  const counted = { closings: () => counts.closings, summaries: () => 0, replies: () => counts.replies };
  return { effects, ...counted, agentIn, deployed: () => "1" };
}

/** A stage or step that runs again does the same deed, so its key is the same. */
function keyed(of: { readonly gate: Gate; readonly effects: RecordedEffect[]; readonly now: () => number }): Tool {
  const { gate, effects, now } = of;
  return tool({
    ...{ input: INPUT, effect: "keyed", timeoutMs: TIMEOUT_MS, settleMs: SETTLE_MS },
    key: ({ what }: z.output<typeof INPUT>) => `deed-${what}`,
    run: ({ input: { what }, key }: ToolContext<z.output<typeof INPUT>>) =>
      gate("tool.keyed", async () => {
        if (!effects.some((effect) => effect.key === key)) effects.push({ tool: "keyed", key, at: now(), what });
        return what;
      }),
  }) as Tool;
}

/** Its keys derive from its calls, and what it did can be undone. */
function undoable(of: { readonly gate: Gate; readonly effects: RecordedEffect[]; readonly now: () => number }): Tool {
  const { gate, effects, now } = of;
  const known = (key: string): boolean => effects.some((effect) => effect.key === key);
  const { key: _, ...rules } = keyed(of);
  return {
    ...rules,
    key: null,
    run: ({ input, key }: ToolContext<unknown>) =>
      gate("tool.keyed", async () => {
        const { what } = INPUT.parse(input);
        if (!known(key)) effects.push({ tool: "keyed", key, at: now(), what });
        return what;
      }),
    undo: {
      effect: "keyed",
      run: ({ input, key, of: { key: undoes } }) =>
        gate("tool.undo", async () => {
          const { what } = INPUT.parse(input);
          if (!known(key)) effects.push({ tool: "keyed", key, at: now(), what, undoes });
        }),
    },
  };
}

/** The topology as a process would have it that keeps its progress in memory. */
function forgetful(topology: Topology): Topology {
  const module = topologyNamed(topology.kind);
  if (module === null) throw new Error(`there is no topology ${topology.kind}`);
  let hasBegun = false;
  return {
    ...topology,
    module: {
      ...module,
      begin: (options, context) => {
        hasBegun = true;
        return module.begin(options, context);
      },
      fits: (progress, options) => hasBegun && module.fits(progress, options),
    },
  };
}

const role = (instructions: string) => ({ instructions });

const TOPOLOGIES: { readonly [S in RecoveryScene]: (gate: Gate) => Topology } = {
  // The gate of the first stage refuses once. That of the last stage refuses once, too, and sends the run back to the
  // stage whose output no gate judged.
  rollback: (gate) =>
    pipeline({
      stages: [
        { ...{ name: "read", tools: [] }, ...role("Read."), gate: ({ output }) => judged(gate, output) },
        { name: "act", tools: ["keyed"], ...role("Act.") },
        { ...{ name: "tell", tools: [] }, ...role("Tell."), gate: ({ output }) => judged(gate, output) },
      ],
      endToEnd: () => gate("verify", async () => true),
      // Each run of the stage has the same business key.
      onRollBack: "keep",
    }),
  // The gate of the last stage refuses once, so what the stage before did is undone, and it does it again.
  undone: (gate) =>
    pipeline({
      stages: [
        { ...{ name: "read", tools: [] }, ...role("Read."), gate: () => true },
        { name: "act", tools: ["keyed"], ...role("Act.") },
        { ...{ name: "tell", tools: [] }, ...role("Tell."), gate: ({ output }) => judged(gate, output) },
      ],
    }),
  // The first plan needs what is taken.
  replan: (gate) =>
    planExecute({
      planner: role("Plan."),
      effectsLast: ["keyed"],
      precondition: ({ output }) => gate("verify", async () => !output.includes("taken") || "it is taken"),
    }),
  round: () =>
    debate({ drafter: { ...role("Draft."), tools: ["keyed"] }, critic: role("Object."), judge: role("Judge.") }),
  cap: () => react({ maxBeats: CAP }),
};

const judged = (gate: Gate, output: string) =>
  gate("verify", async () => !output.includes("first") || `refused: ${output}`);

const mustStop = ({ messages }: Conversation): boolean =>
  messages.at(-1)?.text.startsWith("You have to stop now") === true;

const openingIn = ({ messages }: Conversation): string =>
  messages.findLast(({ role: by, text }) => by === "user" && OPENING.test(text))?.text ?? "";

const OPENING = /^(Stage|Step|Write|Revise|Criticise|Score|The plan)/;

const act = (what: string): ScriptedReply => ({ calls: [{ tool: "keyed", args: { what } }] });

const REPLIES: { readonly [S in RecoveryScene]: (conversation: Conversation) => ScriptedReply } = {
  rollback: (conversation) => {
    const opening = openingIn(conversation);
    if (opening.startsWith("Stage 2") && conversation.calls.length === 0) return act("b");
    const isAgain = opening.includes("not accepted");
    // What the second stage hands on in its first run makes the last stage fail.
    if (opening.startsWith("Stage 3")) return { text: opening.includes("done again") ? "told" : "told at first" };
    return {
      text: opening.startsWith("Stage 2") ? `done ${isAgain ? "again" : "once"}` : isAgain ? "read" : "read at first",
    };
  },
  undone: (conversation) => {
    const opening = openingIn(conversation);
    const { length } = conversation.calls;
    if (opening.startsWith("Stage 2") && length < 2) return act(length === 0 ? "b" : "c");
    const isAgain = opening.includes("not accepted");
    if (opening.startsWith("Stage 3")) return { text: opening.includes("done again") ? "told" : "told at first" };
    return { text: opening.startsWith("Stage 2") ? `done ${isAgain ? "again" : "once"}` : "read" };
  },
  replan: (conversation) => {
    const opening = openingIn(conversation);
    if (conversation.instructions.includes("Plan.")) return { text: JSON.stringify({ steps: stepsAfter(opening) }) };
    const [, title = ""] = /^Step \d of \d: (.+)\.\n/.exec(opening) ?? [];
    if (title === "") return { text: `all is done: ${/^- (act-\w+):/m.exec(opening)?.[1] ?? "?"}` };
    if (conversation.calls.length > 0) return { text: `${title} is over` };
    return title === "look" ? { calls: [{ tool: "look", args: { what: "a" } }] } : act(title);
  },
  round: (conversation) => {
    const opening = openingIn(conversation);
    const draft = Number(/draft (\d)/.exec(opening)?.[1] ?? 0);
    if (opening.startsWith("Criticise")) return { text: "longer" };
    if (opening.startsWith("Score")) return { text: JSON.stringify({ score: SCORES[draft - 1] ?? 0, why: "so" }) };
    if (draft === 0 && conversation.calls.length === 0) return act("b");
    return { text: `draft ${draft + 1}${" other words".repeat(draft * draft)}` };
  },
  cap: ({ calls, ...conversation }) => {
    if (mustStop({ calls, ...conversation })) return { text: "b is done" };
    return calls.length === 0 ? act("b") : { calls: [{ tool: "look", args: { what: String(calls.length) } }] };
  },
};

const SCORES = [0.2, 0.6, 0.4];

function stepsAfter(opening: string): readonly object[] {
  const isAgain = opening.includes("cannot go on");
  const last = isAgain ? "act-free" : "act-taken";
  return [
    ...(isAgain ? [] : [{ title: "look", does: "look", tools: ["look"] }]),
    { title: last, does: last, tools: ["keyed"] },
  ];
}

/** The way that a run took: where its topology stood, one after the other, and each first signal. */
export const wayOf = (history: History): readonly string[] => [
  ...eventsOfKind(history, "TopologyMoved").map(({ where, role: by }) => `${where} (${by})`),
  ...eventsOfKind(history, "CrackSignalled").map(({ crack, why, times }) => `${crack} ${times}: ${why}`),
];

/** No count of a topology falls: a resumed run has no fresh rounds, retries, plans or age. */
export function wrongWithProgress(history: History): readonly string[] {
  const counts = eventsOfKind(history, "TopologyMoved").map(({ progress }) => countsIn(progress));
  return counts.flatMap((now, index) =>
    Object.entries(counts[index - 1] ?? {}).flatMap(([name, before]) =>
      (now[name] ?? 0) < before ? [`fresh: ${name} ${before} became ${now[name] ?? 0}`] : [],
    ),
  );
}

function countsIn(progress: unknown): Readonly<Record<string, number>> {
  const { own = {} } = (progress ?? {}) as { readonly own?: Readonly<Record<string, unknown>> };
  const {
    runs = [],
    replans = 0,
    plans = 0,
    plannedAt = 0,
    round = 0,
    judged: scored = [],
  } = own as {
    readonly runs?: readonly number[];
    readonly replans?: number;
    readonly plans?: number;
    readonly plannedAt?: number;
    readonly round?: number;
    readonly judged?: readonly unknown[];
  };
  const ofStages = Object.fromEntries(runs.map((count, index) => [`runs of stage ${index + 1}`, count]));
  return { ...ofStages, replans, plans, plannedAt, round, "judged drafts": scored.length };
}
