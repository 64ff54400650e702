/**
 * Plan and execute: a planner writes a plan, then its steps are carried out one by one. Its typical failures are a
 * stale plan (the world moved since it was written) and a plan that is carried out in part. So a plan has an age limit,
 * a step has a precondition that is checked against the world, and a failed step has a policy: stop, skip or replan.
 *
 * The plan, its time, the cursor and the number of replans are in the progress. A resumed run has no fresher plan and
 * no more replans than one that nothing happened to.
 *
 * What the planner and the steps are given is in the messages that open their sections.
 */
import { UNREADABLE_MAX } from "../../../core/topologies/json-in.ts";
import type { Composite } from "../../../core/topologies/nested.ts";
import { type PlanExecuteOptions, planProblems } from "./core-options.ts";
import { type PlanStep, planDiff, planFormat, planIn, type PlanRules } from "./core-plan.ts";
import { reactTopology } from "../../../core/topologies/react.ts";
import type {
  Context,
  Move,
  Observation,
  Repeat,
  Shape,
  Symptom,
  FunctionVerdict,
} from "../../../core/topologies/topology.ts";

type Progress = {
  readonly role: "planner" | "step" | "answer";
  readonly steps: readonly PlanStep[];
  readonly cursor: number;
  /** When the plan was written, in epoch milliseconds. */
  readonly plannedAt: number;
  /** How many plans there were, and how many of them replaced one. */
  readonly plans: number;
  readonly replans: number;
  /** Steps of all plans that are over, in order. */
  readonly done: readonly Done[];
  /** Why there has to be another plan; empty for the first. */
  readonly why: string;
  readonly unreadable: number;
  /** Only while the precondition is checked again after a takeover; never stored. */
  readonly resuming?: true;
};

type Setup = { readonly options: PlanExecuteOptions; readonly context: Context };
type Reply = Extract<Observation, { readonly kind: "reply" }>;

const STEP_BEATS = 20;
const PLANNER_BEATS = 10;

/** What a tool says when the object of a step is not there any more. An unknown outcome says nothing of the kind. */
const GONE =
  /not found|not exist|no such|unknown id|no longer|deprecated and removed|(was|were|been|is|are) (deleted|removed)|\b(404|410)\b|\bgone\b/i;

const saysGone = (why: string, { goneWords = [] }: PlanExecuteOptions): boolean =>
  GONE.test(why) || goneWords.some((words) => why.toLowerCase().includes(words.toLowerCase()));

export const PLAN_EXECUTE: Composite<PlanExecuteOptions, Progress> = {
  kind: "plan-execute",
  checkpoint: "step",
  problems: planProblems,
  uses: ({ planner, step, precondition, effectsLast }) => ({
    functions: precondition === undefined ? [] : [precondition],
    models: [planner.model, step.model].filter((each) => each !== undefined),
    tools: [...(planner.tools ?? []), ...effectsLast],
  }),
  begin: (options) => ({
    progress: {
      role: "planner",
      steps: [],
      cursor: 0,
      plannedAt: 0,
      plans: 0,
      replans: 0,
      done: [],
      why: "",
      unreadable: 0,
    },
    note: "a plan is written",
    say: `Write a plan for the task.\n${planFormat(options)}`,
  }),
  fits: () => true,
  inners: (options) => [stepTopology(options), PLANNING],
  inner: ({ role }, options) => {
    if (role === "step") return stepTopology(options);
    return role === "planner" && (options.planner.tools ?? []).length > 0 ? PLANNING : null;
  },
  opening: (progress, options, context) =>
    progress.role === "step" ? stepOpening(progress, context) : planFormat(options),
  request,
  observe: (progress, seen, setup) => {
    switch (seen.kind) {
      case "due":
        return progress.role === "step" ? beforeBeat(progress, setup) : null;
      case "reply":
        return replies[progress.role](progress, seen, setup);
      case "verdicts":
        return checked(progress, seen.verdicts, setup);
      case "gaveUp": {
        const why = `${seen.failure.code}: ${seen.failure.message}`;
        return progress.role === "step" ? failedStep(progress, why, setup) : { kind: "fail", failure: seen.failure };
      }
      case "reopened":
        return reopened(progress, seen, setup);
      default:
        return null;
    }
  },
  misses: () => [],
  decidesAfter: ({ planner, effectsLast }, tool) => {
    if (planner.tools?.includes(tool) === true) return "the planner may call it before there is a plan";
    return effectsLast.includes(tool)
      ? null
      : "no rule puts it at the end of a plan: a step may call it that others follow, also one that names no tools (effectsLast)";
  },
  where: ({ role, steps, cursor, plans }) => {
    if (role === "planner") return `plan ${plans + 1} is written`;
    if (role === "answer") return `plan ${plans} is carried out, the answer is written`;
    return `plan ${plans}, step ${cursor + 1} of ${steps.length}, ${steps[cursor]?.title ?? ""}`;
  },
};

/** A plan that replaces another may repeat its steps, and what they did stands. */
const REPEATED: Repeat = { after: "", effects: "keep" };

const PLANNING: Shape = reactTopology({ maxBeats: PLANNER_BEATS });

const stepTopology = ({ step: { topology = reactTopology({ maxBeats: STEP_BEATS }) } }: PlanExecuteOptions): Shape =>
  topology;

function request(
  { role, steps, cursor }: Progress,
  { planner, step, effectsLast }: PlanExecuteOptions,
): ReturnType<typeof PLAN_EXECUTE.request> {
  if (role === "planner") {
    const { instructions, model, tools = [] } = planner;
    return { role, instructions, tools, lists: true, ...(model === undefined ? {} : { model }) };
  }
  if (role === "answer") return { role, tools: "none" };
  const { instructions, model } = step;
  // A step that names no tools may act only if it is the last one: what comes after it may still decide something.
  const { tools } = steps[cursor] ?? {};
  const mayAct = tools !== undefined || cursor >= steps.length - 1 || effectsLast.length === 0;
  return {
    role,
    tools: tools ?? "all",
    ...(mayAct ? {} : { withheld: effectsLast }),
    ...(instructions === undefined ? {} : { instructions }),
    ...(model === undefined ? {} : { model }),
  };
}

const replies: { readonly [R in Progress["role"]]: (progress: Progress, seen: Reply, setup: Setup) => Move<Progress> } =
  {
    planner: (progress, { text }, setup) => {
      const { steps, wrong } = planIn(text, setup.options);
      return wrong === null ? adopt(progress, steps, setup) : refusePlan(progress, wrong, setup);
    },
    step: (progress, seen, setup) => {
      const [failure] = setup.context.failures;
      if (failure !== undefined) return failedStep(progress, `${failure.tool}: ${failure.why}`, setup);
      const { title } = stepAt(progress);
      const done = [...progress.done, { title, message: seen.message, skipped: false }];
      return next({ ...progress, done, cursor: progress.cursor + 1 }, setup, { note: `"${title}" is done` });
    },
    answer: (progress, { message }) => ({ kind: "finish", progress, message, note: "the plan is carried out" }),
  };

function refusePlan(progress: Progress, wrong: string, { options }: Setup): Move<Progress> {
  const unreadable = progress.unreadable + 1;
  if (unreadable > UNREADABLE_MAX)
    return { kind: "fail", failure: { code: "PlanInvalid", message: `no usable plan: ${wrong}` } };
  const tell = `This plan cannot be used: ${wrong}.\n${planFormat(options)}`;
  return { kind: "ask", progress: { ...progress, unreadable }, note: `the plan cannot be used: ${wrong}`, tell };
}

/** The plan is valid from now on. */
function adopt(progress: Progress, steps: readonly PlanStep[], setup: Setup): Move<Progress> {
  const plans = progress.plans + 1;
  const left = progress.steps.slice(progress.cursor);
  const titles = steps.map(({ title }) => title).join("; ");
  const note = plans === 1 ? `plan 1: ${titles}` : `plan ${plans}: ${planDiff(left, steps)}`;
  return next({ ...progress, steps, cursor: 0, plannedAt: setup.context.now, plans, unreadable: 0, why: "" }, setup, {
    note,
  });
}

type Said = { readonly note: string; readonly cracks?: readonly Symptom[] };

/** The step at the cursor, after its precondition; or the answer, if no step is left. */
function next(progress: Progress, setup: Setup, said: Said): Move<Progress> {
  const { precondition } = setup.options;
  if (progress.cursor >= progress.steps.length) {
    return {
      kind: "ask",
      progress: { ...progress, role: "answer" },
      ...said,
      say: answerOpening(progress, setup.context),
    };
  }
  const step: Progress = { ...progress, role: "step" };
  if (precondition === undefined) return enter(step, setup, said);
  return { ...verify(step, precondition), ...(said.cracks === undefined ? {} : { cracks: said.cracks }) };
}

const verify = (progress: Progress, name: string): Extract<Move<Progress>, { readonly kind: "verify" }> => {
  const { title, does } = stepAt(progress);
  return { kind: "verify", progress, names: [name], output: does, about: { step: progress.cursor + 1, title } };
};

function enter(progress: Progress, { context }: Setup, said: Said): Move<Progress> {
  return { kind: "ask", progress, ...said, say: stepOpening(progress, context) };
}

function checked(
  { resuming, ...progress }: Progress,
  [verdict]: readonly FunctionVerdict[],
  setup: Setup,
): Move<Progress> | null {
  if (verdict?.holds === false)
    return stale(progress, `"${stepAt(progress).title}" cannot begin: ${verdict.why}`, setup);
  // The step was under way and had not acted: it goes on.
  if (resuming === true) return null;
  const { cursor, steps, plans } = progress;
  const titles = steps.map(({ title }) => title).join("; ");
  const note = cursor === 0 ? `plan ${plans}: ${titles}` : `"${steps[cursor - 1]?.title ?? ""}" is over`;
  return enter(progress, setup, { note });
}

/**
 * Whether the plan is still good for the next call of the model. A step that acted may have changed what it needed, so
 * after a takeover only a step that has not acted is checked again.
 */
function beforeBeat(progress: Progress, setup: Setup): Move<Progress> | null {
  const { options, context } = setup;
  const ageMs = context.now - progress.plannedAt;
  if (ageMs > options.planTtlMs) {
    const [age, max] = [ageMs, options.planTtlMs].map((ms) => Math.round(ms / 1_000));
    return stale(progress, `the plan is ${age} s old, and ${max} s are allowed`, setup);
  }
  const gone = context.failures.find(({ why, unknown }) => !unknown && saysGone(why, options));
  if (gone !== undefined) return stale(progress, `${gone.tool} in "${stepAt(progress).title}": ${gone.why}`, setup);
  const isDoubted = context.resumed && context.sectionBeats === 0 && options.precondition !== undefined;
  return isDoubted ? verify({ ...progress, resuming: true }, options.precondition) : null;
}

/** The world is not as the plan needs it: the rest of the plan is given up before it acts on that. */
function stale(progress: Progress, why: string, setup: Setup): Move<Progress> {
  return replan(progress, setup, { why, cracks: [{ crack: "stalePlan", why }], code: "StalePlan" });
}

function failedStep(progress: Progress, why: string, setup: Setup): Move<Progress> {
  const { cursor, steps, done } = progress;
  const { title } = stepAt(progress);
  const { effects } = setup.context;
  const ended = [...done, ...givenUp(progress, setup.context)];
  const words = `step ${cursor + 1} of ${steps.length} ("${title}") failed: ${why}`;
  const cracks = [{ crack: "partialExecution", why: words } as const];
  switch (setup.options.onFailedStep) {
    case "stop":
      return { kind: "fail", failure: { code: "PartialExecution", message: `${words}; ${doneWords(ended)}` }, cracks };
    case "skip": {
      const skipped = effects.length > 0 ? ended : [...done, { title, message: "", skipped: true }];
      return next({ ...progress, done: skipped, cursor: cursor + 1 }, setup, {
        note: `"${title}" is skipped: ${why}`,
        cracks,
      });
    }
    case "replan":
      return replan(progress, setup, { why: words, cracks, code: "PartialExecution" });
  }
}

/** Another plan for what is left, from the world as it is. */
function replan(
  progress: Progress,
  { options, context }: Setup,
  { why, cracks, code }: { readonly why: string; readonly cracks: readonly Symptom[]; readonly code: string },
): Move<Progress> {
  const replans = progress.replans + 1;
  const done = [...progress.done, ...givenUp(progress, context)];
  if (replans > options.replansMax) {
    const message = `${why}; ${options.replansMax} further plans are allowed, and they are used up; ${doneWords(done)}`;
    return { kind: "fail", failure: { code, message }, cracks };
  }
  const again: Progress = { ...progress, role: "planner", replans, why, done, unreadable: 0 };
  return {
    kind: "ask",
    progress: again,
    note: `another plan: ${why}`,
    cracks,
    say: replanOpening(again, options, context),
    repeats: REPEATED,
  };
}

/** The step that the plan ends in, if it has done something. Otherwise the next plan would do that again. */
function givenUp(progress: Progress, { effects }: Context): readonly Done[] {
  if (progress.role !== "step" || effects.length === 0) return [];
  return [{ title: stepAt(progress).title, message: "", skipped: false, effects }];
}

function reopened(
  progress: Progress,
  { by, why }: Extract<Observation, { readonly kind: "reopened" }>,
  setup: Setup,
): Move<Progress> {
  if (by === "checks") return replan(progress, setup, { why: `what is missing:\n${why}`, cracks: [], code: "NotDone" });
  const again: Progress = { ...progress, role: "planner", why: "a user wants something else", unreadable: 0 };
  return {
    kind: "ask",
    progress: again,
    note: `a user wrote: ${why}`,
    say: replanOpening(again, setup.options, setup.context),
    repeats: REPEATED,
  };
}

/** A step that is over. `effects`: it was given up, and these calls of it took effect or may have. */
type Done = {
  readonly title: string;
  readonly message: string;
  readonly skipped: boolean;
  readonly effects?: readonly string[];
};

/** The part of the progress that the messages are about. */
interface PlanState {
  readonly steps: readonly PlanStep[];
  readonly cursor: number;
  readonly done: readonly Done[];
  readonly why: string;
}

const stepAt = ({ steps, cursor }: PlanState): PlanStep => steps[cursor] ?? { title: "", does: "" };

const doneWords = (done: readonly Done[]): string =>
  done.length === 0 ? "no step was done" : `done: ${done.map((step) => `${step.title}${state(step)}`).join("; ")}`;

const state = ({ skipped, effects }: Omit<Done, "title">): string => {
  if (effects !== undefined) return ` (given up, after ${effects.join(", ")})`;
  return skipped ? " (skipped)" : "";
};

/** What came of the steps so far, for the model. */
const results = ({ done }: PlanState, { textOf }: Context): string =>
  done
    .map(({ title, message, skipped, effects }) => {
      if (effects !== undefined) return `- ${title}: was given up. What it did: ${effects.join(", ")}`;
      return `- ${title}: ${skipped ? "was skipped" : textOf(message)}`;
    })
    .join("\n");

function stepOpening(progress: PlanState, context: Context): string {
  const { steps, cursor, done } = progress;
  const { title, does } = stepAt(progress);
  return [
    `Step ${cursor + 1} of ${steps.length}: ${title}.\n${does}`,
    ...(done.length === 0 ? [] : [`What came of the steps before:\n${results(progress, context)}`]),
    "Do this step only, then say in words what came of it.",
  ].join("\n\n");
}

const answerOpening = (progress: PlanState, context: Context): string =>
  `The plan is carried out. What came of its steps:\n${results(progress, context)}\n\nAnswer the task.`;

function replanOpening(progress: PlanState, options: PlanRules, context: Context): string {
  const left = progress.steps.slice(progress.cursor).map(({ title }) => `- ${title}`);
  return [
    `The plan cannot go on: ${progress.why}.`,
    ...(progress.done.length === 0 ? [] : [`Already done, not to be done again:\n${results(progress, context)}`]),
    ...(left.length === 0 ? [] : [`Not done yet:\n${left.join("\n")}`]),
    `Write a plan for what is left, from the world as it is now.\n${planFormat(options)}`,
  ].join("\n\n");
}
