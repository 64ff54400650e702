/**
 * Debate: a drafter writes, a critic objects, the drafter revises. Its typical failures are deadlock (the drafts never
 * converge) and capitulation (each revision is worse than the one before). So a judge who sees no criticism
 * scores each draft, and the best-scored draft is shipped: never a draft that was not judged, and never half a revision.
 *
 * A round is complete when its draft is judged. Rounds, scores and the best draft are in the progress: a resumed run has
 * no more rounds than one that nothing happened to.
 */
import { editDistance } from "../../../core/topologies/edit-distance.ts";
import { SCORE_FORMAT, UNREADABLE_MAX, scoreIn } from "../../../core/topologies/json-in.ts";
import type { Composite } from "../../../core/topologies/nested.ts";
import { problemOfWhole, problemsOfRoles } from "../../../core/topologies/problems.ts";
import { reactTopology } from "../../../core/topologies/react.ts";
import type { Context, Move, Observation, Shape, Symptom } from "../../../core/topologies/topology.ts";

/** One of the roles. `model`: the name of a model of the agent. */
export interface RoleOptions {
  readonly instructions: string;
  readonly model?: string;
}

export interface DebateOptions extends Shape {
  readonly kind: "debate";
  /** How many drafts are judged at most, the first one included. */
  readonly rounds: number;
  /** Two drafts that differ by less than this share of their words have converged. */
  readonly epsilon: number;
  readonly drafter: RoleOptions & { readonly tools?: readonly string[]; readonly topology?: Shape };
  readonly critic: RoleOptions;
  readonly judge: RoleOptions;
}

/** A judged draft: the ID of its message, and its score. */
type Draft = { readonly message: string; readonly score: number };

type Progress = {
  readonly role: "drafter" | "critic" | "judge";
  /** Complete rounds. */
  readonly round: number;
  /** The drafts that were judged, in order. */
  readonly judged: readonly Draft[];
  /** The draft that is judged now, or empty. */
  readonly candidate: string;
  /** The message of the criticism that the drafter answers, or empty. */
  readonly critique: string;
  /** What a user or the definition of done wants besides. */
  readonly wish: string;
  readonly unreadable: number;
};

type Setup = { readonly options: DebateOptions; readonly context: Context };
type Reply = Extract<Observation, { readonly kind: "reply" }>;

/** The cap of one draft that declares none. */
const DRAFT_BEATS = 20;

/** After this many falls in a row the debate ends: more rounds make it worse. */
const FALLS_MAX = 2;

export const DEBATE: Composite<DebateOptions, Progress> = {
  kind: "debate",
  checkpoint: "round",
  problems,
  uses: ({ drafter, critic, judge }) => ({
    models: [drafter, critic, judge].flatMap(({ model }) => (model === undefined ? [] : [model])),
    tools: drafter.tools ?? [],
  }),
  begin: ({ rounds }) => ({
    progress: {
      role: "drafter",
      round: 0,
      judged: [],
      candidate: "",
      critique: "",
      wish: "",
      unreadable: 0,
    },
    note: `a first draft; ${rounds} rounds at most`,
    say: FIRST,
  }),
  fits: () => true,
  inners: ({ drafter }) => [innerOf(drafter)],
  inner: ({ role }, { drafter }) => (role === "drafter" ? innerOf(drafter) : null),
  opening: (progress, _, context) => openings[progress.role](progress, context),
  request: ({ role }, options) => {
    const { instructions, model } = options[role];
    const asks = role === "judge" ? `${instructions}\n\n${SCORE_FORMAT}` : instructions;
    const tools = role === "drafter" ? (options.drafter.tools ?? "all") : "none";
    return { role, instructions: asks, tools, ...(model === undefined ? {} : { model }) };
  },
  observe: (progress, seen, setup) => {
    switch (seen.kind) {
      case "due":
        return outOfBudget(progress, setup);
      case "reply":
        return replies[progress.role](progress, seen, setup);
      case "gaveUp": {
        const why = `the drafter gave up (${seen.failure.code}: ${seen.failure.message})`;
        return progress.judged.length > 0 ? ship(progress, why) : { kind: "fail", failure: seen.failure };
      }
      case "reopened":
        return reopened(progress, seen, setup);
      default:
        return null;
    }
  },
  misses: () => [],
  decidesAfter: ({ drafter: { tools } }, tool) =>
    tools === undefined || tools.includes(tool)
      ? "the drafter may call it in each round, before the draft is judged"
      : null,
  where: ({ role, round, judged }, { rounds }) => {
    const scores = judged.length === 0 ? "" : `, scores ${judged.map(({ score }) => score).join(", ")}`;
    return `round ${Math.min(round + 1, rounds)} of ${rounds}, ${role}${scores}`;
  },
};

const FIRST = "Write the first draft. Answer with the draft alone.";

const innerOf = ({ topology = reactTopology({ maxBeats: DRAFT_BEATS }) }: DebateOptions["drafter"]): Shape => topology;

/** What each role sees besides the task. The judge sees no criticism and no earlier draft: it is independent. */
const openings: { readonly [R in Progress["role"]]: (progress: Progress, context: Context) => string } = {
  drafter: ({ judged, critique, wish }, { textOf }) => {
    const base = bestOf(judged);
    if (base === null) return FIRST;
    return [
      `Revise the draft. Answer with the new draft alone.\n\nThe draft:\n${textOf(base.message)}`,
      ...(critique === "" ? [] : [`The criticism:\n${textOf(critique)}`]),
      ...(wish === "" ? [] : [`Also wanted:\n${wish}`]),
    ].join("\n\n");
  },
  critic: ({ judged }, { textOf }) => `Criticise this draft:\n${textOf(bestOf(judged)?.message ?? "")}`,
  judge: ({ candidate }, { textOf }) => `Score this draft:\n${textOf(candidate)}`,
};

/** The best-scored draft; of equal ones the earliest. */
function bestOf(judged: readonly Draft[]): Draft | null {
  return judged.reduce<Draft | null>((best, each) => (best === null || each.score > best.score ? each : best), null);
}

function ask(
  progress: Progress,
  { context }: Setup,
  said: { readonly note: string; readonly cracks?: readonly Symptom[] },
): Move<Progress> {
  const moved = { kind: "ask", progress, ...said, say: openings[progress.role](progress, context) } as const;
  // A drafter that revises has the tools of the round before, and what it did then stands.
  return progress.role === "drafter" ? { ...moved, repeats: { after: "", effects: "keep" } } : moved;
}

const replies: { readonly [R in Progress["role"]]: (progress: Progress, seen: Reply, setup: Setup) => Move<Progress> } =
  {
    drafter: (progress, { message }, setup) => {
      const next: Progress = { ...progress, role: "judge", candidate: message, unreadable: 0 };
      return ask(next, setup, { note: `draft ${progress.round + 1} is judged` });
    },
    critic: (progress, { message }, setup) =>
      ask({ ...progress, role: "drafter", critique: message }, setup, { note: "the best draft is revised" }),
    judge: judgedNow,
  };

/** The draft is scored, or its judge is asked again. */
function judgedNow(progress: Progress, { text }: Reply, setup: Setup): Move<Progress> {
  const found = scoreIn(text);
  if (found !== null) return completed(progress, found.score, setup);
  const unreadable = progress.unreadable + 1;
  if (unreadable <= UNREADABLE_MAX) {
    return { kind: "ask", progress: { ...progress, unreadable }, note: "the judge gave no score", tell: SCORE_FORMAT };
  }
  const why = "the judge gave no score";
  if (progress.judged.length > 0) return ship(progress, why);
  return { kind: "fail", failure: { code: "JudgeUnusable", message: `${why}, ${unreadable} times` } };
}

/** A round is complete: its draft has a score. The debate ends when drafts converge, fall twice, or rounds are used up. */
function completed(before: Progress, score: number, setup: Setup): Move<Progress> {
  const { options, context } = setup;
  const last = before.judged.at(-1);
  const judged = [...before.judged, { message: before.candidate, score }];
  const progress: Progress = { ...before, round: before.round + 1, judged, candidate: "", critique: "", wish: "" };
  const { round } = progress;
  const note = `draft ${round} has score ${score}`;
  if (score === 1) return ship(progress, `${note}, the highest`);
  if (last === undefined)
    return options.rounds === 1 ? ship(progress, note) : ask({ ...progress, role: "critic" }, setup, { note });
  const delta = editDistance(context.textOf(last.message), context.textOf(before.candidate));
  const falls = fallsIn(judged);
  const fell =
    falls > 0 ? [{ crack: "capitulation", why: `the score fell from ${last.score} to ${score}` } as const] : [];
  const share = `${Math.round(delta * 100)} %`;
  if (delta < options.epsilon)
    return ship(progress, `${note}; the drafts have converged, they differ by ${share}`, fell);
  if (falls >= FALLS_MAX) return ship(progress, `${note}; it fell ${falls} times in a row`, fell);
  if (round >= options.rounds) {
    const stuck = {
      crack: "deadlock",
      why: `${round} rounds are used up, and the last drafts differ by ${share}`,
    } as const;
    return ship(progress, `${note}; all rounds are used up`, [...fell, stuck]);
  }
  return ask({ ...progress, role: "critic" }, setup, { note, cracks: fell });
}

/** How many times in a row the newest scores fell. */
function fallsIn(judged: readonly Draft[]): number {
  const scores = judged.map(({ score }) => score);
  const rose = scores.findLastIndex((score, index) => index === 0 || score >= (scores[index - 1] ?? 0));
  return scores.length - 1 - rose;
}

/** The best-scored draft is the answer, whatever role was at work. */
function ship(progress: Progress, why: string, cracks: readonly Symptom[] = []): Move<Progress> {
  const best = bestOf(progress.judged);
  const note = `${why}; the draft with score ${best?.score ?? 0} is shipped`;
  return { kind: "finish", progress, message: best?.message ?? "", note, ...(cracks.length > 0 ? { cracks } : {}) };
}

/** A draft that was judged is worth more than the failure of a run without beats. */
function outOfBudget(progress: Progress, { context: { beats } }: Setup): Move<Progress> | null {
  if (beats.used < beats.max || progress.judged.length === 0) return null;
  return ship(progress, `${beats.used} of ${beats.max} beats are used`);
}

/** The best draft is revised again. For checks only while rounds are left; a user may ask for more. */
function reopened(
  progress: Progress,
  { by, why }: Extract<Observation, { readonly kind: "reopened" }>,
  setup: Setup,
): Move<Progress> | null {
  const { beats } = setup.context;
  // Without a beat the same draft would be shipped again, and the checks would send it back without end.
  const lacks = progress.round >= setup.options.rounds ? "round" : beats.used >= beats.max ? "beat" : null;
  if (by === "checks" && lacks !== null) {
    return { kind: "fail", failure: { code: "NotDone", message: `no ${lacks} is left, and what is missing:\n${why}` } };
  }
  const note = by === "checks" ? "the definition of done does not hold" : `a user wrote: ${why}`;
  return ask({ ...progress, role: "drafter", critique: "", wish: by === "checks" ? why : "" }, setup, { note });
}

function problems({ rounds, epsilon, drafter, critic, judge }: DebateOptions): readonly string[] {
  return [
    ...problemsOfRoles({ drafter, critic, judge }),
    ...problemOfWhole("rounds", rounds, 1),
    ...(epsilon >= 0 && epsilon < 1 ? [] : [`epsilon ${epsilon}: write a number from 0 to below 1`]),
  ];
}
