/**
 * ReAct: the model plans one step at a time, sees its results, and stops when it has no more calls to make. Its typical
 * failure is a runaway. `maxBeats` prevents it, beats before a crash count as well, and the first signal comes
 * at 80 % of the cap.
 */
import type { Begun, Context, Move, Observation, Shape, Symptom, TopologyModule } from "./topology.ts";

/**
 * What follows when tools contradict each other again although the model was told. `stop`: the run stops. `ask`: from
 * then on a human approves each call. `model`: another model of the agent goes on; if it meets the contradiction, too,
 * the run stops.
 */
export type OnContradiction = "stop" | "ask" | { readonly model: string };

export interface ReactOptions extends Shape {
  readonly kind: "react";
  readonly onContradiction?: OnContradiction;
}

/** Null until a contradiction was escalated. */
type Progress = { readonly escalated: string } | null;

/** The topology of an agent that loops over model and tools. `maxBeats` is a positive whole number. */
export const reactTopology = (options: {
  readonly maxBeats: number;
  readonly onContradiction?: OnContradiction;
}): ReactOptions => ({ kind: "react", ...options });

/** The share of the cap at which the first signal of a runaway comes. */
const SIGNAL_SHARE = 0.8;

export const REACT: TopologyModule<ReactOptions, Progress> = {
  kind: "react",
  checkpoint: "beat",
  problems: ({ onContradiction = "stop" }) =>
    isPolicy(onContradiction) ? [] : ['onContradiction: write "stop", "ask" or { model: "NAME" }'],
  uses: ({ onContradiction }) => (typeof onContradiction === "object" ? { models: [onContradiction.model] } : {}),
  begin: (): Begun<Progress> | null => null,
  fits: () => true,
  request: (progress, { onContradiction }) => {
    if (progress === null) return { role: "react", tools: "all" };
    if (typeof onContradiction === "object") return { role: "arbiter", tools: "all", model: onContradiction.model };
    return { role: "react", tools: "all", approval: progress.escalated };
  },
  observe: (progress, seen, { options, context }) => {
    switch (seen.kind) {
      case "due":
        return beforeBeat(context);
      case "reply":
        return { kind: "finish", progress, message: null, note: "the model has no more calls to make" };
      case "conflict":
        return escalated(progress, seen, options);
      default:
        return null;
    }
  },
  misses: () => [],
  decidesAfter: () => "its model decides after each call what comes next",
  where: (progress) => (progress === null ? "react" : "react, after a contradiction of its tools"),
};

/** The cap itself is enforced by the budget, or by the topology around this one. */
function beforeBeat(context: Context): Move<Progress> | null {
  const cracks = nearCap(context);
  return cracks.length > 0 ? { kind: "signal", cracks } : null;
}

/** The first signal of a runaway, once and while beats are left. */
export function nearCap({ beats: { used, max }, wasSignalled }: Context): readonly Symptom[] {
  const isNear = used >= max * SIGNAL_SHARE && used < max && !wasSignalled("runaway");
  return isNear ? [{ crack: "runaway", why: `${used} of ${max} beats are used` }] : [];
}

function escalated(
  progress: Progress,
  { why, say }: Extract<Observation, { readonly kind: "conflict" }>,
  { onContradiction = "stop" }: ReactOptions,
): Move<Progress> | null {
  if (progress !== null || onContradiction === "stop") return null;
  const note =
    onContradiction === "ask"
      ? `a human approves each call from here on: ${why}`
      : `model ${onContradiction.model} goes on: ${why}`;
  return { kind: "ask", progress: { escalated: why }, note, tell: say };
}

const isPolicy = (policy: OnContradiction): boolean =>
  policy === "stop" || policy === "ask" || (typeof policy === "object" && typeof policy?.model === "string");
