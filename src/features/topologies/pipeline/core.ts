/**
 * Pipeline: stages in a fixed order, each with the output of the stage before as its input. Its typical failure is
 * cascading poison: a stage is subtly wrong, and the stages after it build on that. So a gate judges the output
 * of a stage before the next one begins. A refused output sends the run back to the stage after the last one whose gate
 * held. Only a declared gate is one: the schema of an output checks its form, and vouches for nothing that it says. The
 * end-to-end check sees what no gate sees, and may choose any stage to return to.
 */
import { SCORE_FORMAT, UNREADABLE_MAX, scoreIn } from "../../../core/topologies/json-in.ts";
import type { Composite } from "../../../core/topologies/nested.ts";
import { type PipelineOptions, type Stage, judgesOf, pipelineProblems } from "./core-options.ts";
import { reactTopology } from "../../../core/topologies/react.ts";
import type { Context, Move, Observation, Shape, Symptom, FunctionVerdict } from "../../../core/topologies/topology.ts";

/** `message`: the reply that is the output. `held`: a gate judged it. */
type Output = { readonly message: string; readonly held: boolean };

type Progress = {
  /** The stages when this progress began: with others it would not fit. */
  readonly names: readonly string[];
  /** The newest message when this pipeline began: what came before belongs to a topology around it. */
  readonly since: string;
  readonly cursor: number;
  readonly role: "stage" | "judge" | "end";
  /** Of the stages before `cursor`. */
  readonly outputs: readonly Output[];
  /** How often each stage began. */
  readonly runs: readonly number[];
  /** The output of the present stage, while it is judged. */
  readonly candidate: string;
  /** Why the present stage runs again; empty in its first run. */
  readonly why: string;
  readonly unreadable: number;
};

type Setup = { readonly options: PipelineOptions; readonly context: Context };

const ROLES = { stage: "", judge: ", is judged", end: ", done" } as const;

/** The cap of a stage that declares none. */
const STAGE_BEATS = 20;

export const PIPELINE: Composite<PipelineOptions, Progress> = {
  kind: "pipeline",
  checkpoint: "stage",
  problems: pipelineProblems,
  uses: ({ stages, endToEnd }) => ({
    functions: [...stages.flatMap(judgesOf), ...(endToEnd === undefined ? [] : [endToEnd])],
    models: stages.flatMap(({ model, judge }) => [model, judge?.model].filter((each) => each !== undefined)),
    tools: stages.flatMap(({ tools = [] }) => tools),
  }),
  begin: (options, { newest: since }) => {
    const names = options.stages.map(({ name }) => name);
    const progress: Progress = {
      names,
      since,
      cursor: 0,
      role: "stage",
      outputs: [],
      runs: names.map((_, index) => (index === 0 ? 1 : 0)),
      candidate: "",
      why: "",
      unreadable: 0,
    };
    return { progress, note: `begins with ${names[0] ?? ""}`, say: `Stage 1 of ${names.length}: ${names[0] ?? ""}.` };
  },
  fits: ({ names }, { stages }) => names.join("\n") === stages.map(({ name }) => name).join("\n"),
  inners: ({ stages }) => stages.map(topologyOf),
  inner: (progress, options) => (progress.role === "stage" ? topologyOf(stageAt(progress, options)) : null),
  opening,
  request: (progress, options) => {
    const { name, instructions, tools = "all", model, judge } = stageAt(progress, options);
    if (progress.role !== "judge") {
      return { role: name, instructions, tools, ...(model === undefined ? {} : { model }) };
    }
    const asks = `${judge?.instructions ?? ""}\n\n${SCORE_FORMAT}`;
    return {
      role: `judge of ${name}`,
      instructions: asks,
      tools: "none",
      ...(judge?.model === undefined ? {} : { model: judge.model }),
    };
  },
  observe: (progress, seen, setup) => {
    switch (seen.kind) {
      case "reply":
        return progress.role === "judge" ? scored(progress, seen, setup) : judged(progress, seen, setup);
      case "verdicts":
        return progress.role === "end"
          ? endToEnd(progress, seen.verdicts, setup)
          : gated(progress, seen.verdicts, setup);
      case "gaveUp":
        return goBack(progress, `${seen.failure.code}: ${seen.failure.message}`, setup);
      case "reopened":
        return reopened(progress, seen, setup);
      default:
        return null;
    }
  },
  misses: ({ endToEnd }) => (endToEnd === undefined ? ["cascadingPoison"] : []),
  decidesAfter: ({ stages, endToEnd }, tool) => {
    const may = stages.findIndex(({ tools }) => tools === undefined || tools.includes(tool));
    const [stage, next] = [stages[may], stages[may + 1]];
    if (stage === undefined) return null;
    const { name, judge } = stage;
    if (next !== undefined)
      return `stage ${name} may call it, while a gate may still send the run back, and stage ${next.name} follows`;
    if (endToEnd !== undefined)
      return `stage ${name} may call it before the end-to-end check, which may send the run back`;
    const isJudged = judge !== undefined || judgesOf(stage).length > 0;
    return isJudged ? `stage ${name} may call it before its own output is judged, and would run again` : null;
  },
  where: (progress, options) => {
    const { cursor, role, runs } = progress;
    const { name } = stageAt(progress, options);
    const run = (runs[cursor] ?? 1) > 1 ? `, run ${runs[cursor] ?? 1}` : "";
    return `stage ${cursor + 1} of ${options.stages.length}, ${name}${run}${ROLES[role]}`;
  },
};

const topologyOf = ({ topology = reactTopology({ maxBeats: STAGE_BEATS }) }: Stage): Shape => topology;

const stageAt = ({ cursor }: Pick<Progress, "cursor">, { stages }: PipelineOptions): Stage =>
  stages[Math.min(cursor, stages.length - 1)] ?? { name: "", instructions: "" };

/** What a stage is given: the output of the stage before, and why it runs again. */
function opening(progress: Progress, options: PipelineOptions, { textOf }: Context): string {
  const { cursor, outputs, why } = progress;
  const { name } = stageAt(progress, options);
  const before = outputs[cursor - 1];
  const from = options.stages[cursor - 1]?.name ?? "";
  return [
    `Stage ${cursor + 1} of ${options.stages.length}: ${name}.`,
    ...(before === undefined ? [] : [`What stage ${from} handed on:\n${textOf(before.message)}`]),
    ...(why === "" ? [] : [`An earlier run was not accepted: ${why}`]),
  ].join("\n\n");
}

/** Begins the stage at `cursor`. */
function enter(
  progress: Progress,
  { options, context }: Setup,
  said: { readonly note: string; readonly cracks?: readonly Symptom[] },
): Move<Progress> {
  const { cursor, runs, outputs, since } = progress;
  // Stages from here on are discarded. All that followed the output of the stage before belongs to them.
  const after = outputs[cursor - 1]?.message ?? since;
  const isAgain = (runs[cursor] ?? 0) > 0;
  const next: Progress = {
    ...progress,
    role: "stage",
    candidate: "",
    unreadable: 0,
    outputs: outputs.slice(0, cursor),
    runs: runs.map((count, index) => (index === cursor ? count + 1 : count)),
  };
  return {
    kind: "ask",
    progress: next,
    ...said,
    say: opening(next, options, context),
    ...(isAgain ? { repeats: { after, effects: options.onRollBack ?? "undo" } } : {}),
  };
}

/** The stage has an output. Its functions judge it first, then its judge. */
function judged(
  progress: Progress,
  seen: Extract<Observation, { readonly kind: "reply" }>,
  setup: Setup,
): Move<Progress> {
  const stage = stageAt(progress, setup.options);
  const next: Progress = { ...progress, candidate: seen.message };
  const names = judgesOf(stage);
  if (names.length === 0) return passed(next, setup, false);
  return { kind: "verify", progress: next, names, output: seen.text, about: { stage: stage.name } };
}

function gated(progress: Progress, verdicts: readonly FunctionVerdict[], setup: Setup): Move<Progress> {
  const { form, gates = [] } = stageAt(progress, setup.options);
  const refused = verdicts.filter(({ holds }) => !holds);
  if (refused.length === 0) return passed(progress, setup, gates.length > 0);
  // A gate that judges an output of the wrong form says nothing either.
  const isOfForm = refused.some(({ name }) => name === form);
  return goBack(progress, refused.map(({ why }) => why).join("; "), setup, { isOfForm });
}

/** The functions of the stage hold. A judge comes next, if there is one. */
function passed(progress: Progress, setup: Setup, held: boolean): Move<Progress> {
  const { options, context } = setup;
  const { name, judge } = stageAt(progress, options);
  if (judge === undefined) return advance(progress, setup, held);
  const say = `Judge the output of stage ${name}:\n\n${context.textOf(progress.candidate)}`;
  return { kind: "ask", progress: { ...progress, role: "judge" }, note: `a judge looks at stage ${name}`, say };
}

function scored(
  progress: Progress,
  seen: Extract<Observation, { readonly kind: "reply" }>,
  setup: Setup,
): Move<Progress> {
  const { name, judge } = stageAt(progress, setup.options);
  const found = scoreIn(seen.text);
  if (found === null) {
    const unreadable = progress.unreadable + 1;
    if (unreadable > UNREADABLE_MAX) return goBack(progress, "its judge gave no score", setup);
    const next = { ...progress, unreadable };
    return { kind: "ask", progress: next, note: "the judge gave no score", tell: SCORE_FORMAT };
  }
  const { score, why } = found;
  const threshold = judge?.threshold ?? 0;
  if (score >= threshold) return advance(progress, setup, true);
  return goBack(progress, `the judge gave ${score}, and ${threshold} is needed. ${why}`, setup, {
    what: `the judge of ${name} refused`,
  });
}

/** The gate held, or there is none. */
function advance(progress: Progress, setup: Setup, held: boolean): Move<Progress> {
  const { cursor, candidate } = progress;
  const { options, context } = setup;
  const { name } = stageAt(progress, options);
  const outputs = [...progress.outputs.slice(0, cursor), { message: candidate, held }];
  const next: Progress = { ...progress, outputs, why: "" };
  const passes = held ? `the gate of ${name} held` : `${name} is done and has no gate`;
  if (cursor + 1 < options.stages.length) {
    const after = { ...next, cursor: cursor + 1 };
    return enter(after, setup, { note: `${passes}; ${stageAt(after, options).name} is next` });
  }
  if (options.endToEnd === undefined) return finish(next, passes);
  const about = { stage: name };
  const last: Progress = { ...next, role: "end" };
  return { kind: "verify", progress: last, names: [options.endToEnd], output: context.textOf(candidate), about };
}

const finish = (progress: Progress, note: string): Move<Progress> => ({
  kind: "finish",
  progress: { ...progress, role: "end" },
  message: progress.candidate,
  note,
});

/**
 * The check of the whole. If it falls, every stage was green and the output is wrong all the same: the poison is in one
 * of the stages. The check names it (`detail.backTo`); without a name the run goes back to the first stage.
 */
function endToEnd(progress: Progress, verdicts: readonly FunctionVerdict[], setup: Setup): Move<Progress> {
  const { stages, retriesPerStage } = setup.options;
  const [verdict] = verdicts;
  if (verdict === undefined || verdict.holds) return finish(progress, "the end-to-end check holds");
  const { why, detail } = verdict;
  const named = stages.findIndex(({ name }) => name === detail);
  const cursor = Math.max(0, named);
  const green = stages.length === 1 ? "its stage was" : `all ${stages.length} stages were`;
  const cracks = [
    { crack: "cascadingPoison", why: `the end-to-end check falls while ${green} green: ${why}` } as const,
  ];
  if ((progress.runs[cursor] ?? 0) > retriesPerStage) {
    const message = `the end-to-end check falls after ${progress.runs[cursor] ?? 0} runs of stage ${stages[cursor]?.name ?? ""}: ${why}`;
    return { kind: "fail", failure: { code: "CascadingPoison", message }, cracks };
  }
  return enter({ ...progress, cursor, why }, setup, { note: `back to ${stages[cursor]?.name ?? ""}: ${why}`, cracks });
}

/**
 * Goes back to the stage after the last gate that held: the output of that gate's stage is the last one that is known to
 * be clean. Outputs that no gate judged are not used again. An output of the wrong form says nothing of what the stage
 * was given, so then the stage itself runs again.
 */
function goBack(
  progress: Progress,
  why: string,
  setup: Setup,
  { isOfForm = false, what = "its output was refused" }: { readonly isOfForm?: boolean; readonly what?: string } = {},
): Move<Progress> {
  const { cursor, outputs, runs } = progress;
  const { name } = stageAt(progress, setup.options);
  if ((runs[cursor] ?? 0) > setup.options.retriesPerStage) {
    const message = `stage ${name} was refused in each of ${runs[cursor] ?? 0} runs; the last time: ${why}`;
    return { kind: "fail", failure: { code: "GateFailed", message } };
  }
  const target = isOfForm ? cursor : outputs.slice(0, cursor).findLastIndex(({ held }) => held) + 1;
  const to = stageAt({ cursor: target }, setup.options).name;
  return enter({ ...progress, cursor: target, why: `${name}: ${why}` }, setup, {
    note: `${what} (${name}: ${why}); back to ${to}`,
  });
}

/** The last stage runs again. A user may ask for it as often as the budget allows. */
function reopened(
  progress: Progress,
  { by, why }: Extract<Observation, { readonly kind: "reopened" }>,
  setup: Setup,
): Move<Progress> {
  if (by === "checks") return goBack(progress, why, setup, { what: "the definition of done does not hold" });
  return enter({ ...progress, why: "a user wants something else" }, setup, { note: `a user wrote: ${why}` });
}
