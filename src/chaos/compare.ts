/**
 * The whole comparison: first the uninterrupted tasks, then the killed tasks of each strategy. Kills are chosen from
 * the moments of an uninterrupted task, so every strategy is killed at the same moments of the same tasks.
 *
 * With `everyEdge` there is one task for each moment of a task. For cairn these are the fault points of its protocol.
 * For a plain loop they are moments of the loop, which has no claim at which it could be killed.
 */
import { join } from "node:path";
import type { Chaos, OutsideEffect } from "../sdk/chaos.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { asJson, bounded } from "../codec/value.ts";
import type { Json } from "../core/json.ts";
import type { Limits } from "../protocol/limits.ts";
import { cairnPass } from "./cairn.ts";
import { effectsIn, expectedEffects } from "./effects.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { type Kill, type KillMoment, canJudge, chanceFrom, numbered, randomKill, killWords } from "./kills.ts";
import { type Landed, countKilled, countReference, longestSettleMs, settleMsOf } from "./landing.ts";
import { plainPass } from "./plain.ts";
import { type Casting, type EffectSource, type Counting, countingFor } from "./stand-ins.ts";
import type { Outcome, TrialPass, Starting, Strategy, TypedFlags } from "./strategy.ts";

/** The parameters of a comparison. */
export interface Trial {
  readonly dir: string;
  readonly agent: Agent;
  readonly file: string;
  readonly limits: Limits;
  /** The settle time of the world. `limits` may have a shorter one. */
  readonly worldSettleMs: number;
  readonly strategies: readonly Strategy[];
  /** Strategies that were asked for and cannot run this agent. */
  readonly leftOut: readonly Strategy[];
  readonly tasks: number;
  readonly seed: string;
  readonly everyEdge: boolean;
  readonly chaos: Chaos | null;
  readonly casting: Casting;
  readonly typed: TypedFlags;
  readonly inputOf: (task: number) => unknown;
  readonly starting: Starting;
  readonly onProgress: (what: string) => void;
  readonly stop: AbortSignal;
}

/** A failure of cairn in the comparison. */
export interface TrialFailure {
  /** The task; null if the failure belongs to no known task. */
  readonly task: number | null;
  readonly run: string | null;
  /** The moment at which its process was killed, or null. */
  readonly killed: string | null;
  readonly what: string;
  /** The uninterrupted run that it is compared with, if their results differ. */
  readonly reference?: { readonly run: string; readonly store: string };
}

/** The result of a comparison: one column of figures for each strategy. */
export interface Report {
  readonly agent: string;
  readonly everyEdge: boolean;
  readonly seed: string;
  /** Where the counted effects come from: the records of the external service or of fakes, or the trace of calls. */
  readonly countedBy: EffectSource;
  /** How the tools acted: by services or fakes that stood in, or for real. */
  readonly casting: Casting;
  /** Tools during whose calls no process was killed, because their outcome could not be judged. */
  readonly notDuring: readonly string[];
  readonly figures: readonly Figures[];
  readonly failures: readonly TrialFailure[];
  /** Strategies without a column: the plain loops know no other topology than ReAct. */
  readonly leftOut: readonly Strategy[];
  /** The directory of cairn's own runs. */
  readonly store: string;
}

/** An uninterrupted task did not complete, so there is nothing to compare with. */
export class ReferenceFailed extends Error {
  override readonly name = "ReferenceFailed";
  readonly run: string | null;
  readonly dir: string;

  constructor(message: string, { run, dir }: { readonly run: string | null; readonly dir: string }) {
    super(message);
    this.run = run;
    this.dir = dir;
  }
}

/** Runs the whole comparison. Throws `ReferenceFailed` if an uninterrupted task does not complete. */
export async function compareAll(trial: Trial): Promise<Report> {
  const { strategies, chaos } = trial;
  const edgesOf = trial.everyEdge ? await edgesOfEach(trial) : null;
  const count = edgesOf === null ? trial.tasks : Math.max(...[...edgesOf.values()].map(({ length }) => length));
  const found = await runPass(trial, { name: "reference", strategy: "cairn", count, kills: new Map() });
  const dir = join(trial.dir, "reference");
  const reference = new Map(found.map((each) => [each.task, complete(each, dir)]));
  const landed = await referenceEffectsOf(trial, dir, found);
  const isHandedOutAgain = isCounted(trial) && found.some(({ handedOutAgain }) => handedOutAgain > 0);
  const referenceEffects = expectedEffects(landed.effects, { isHandedOutAgain });
  const normalise = chaos?.normalise ?? ((result: Json) => result);

  const columns: Column[] = [];
  for (const strategy of strategies) {
    const kills = killsOf(trial, { edges: edgesOf?.get(strategy) ?? null, reference });
    const outcomes = await runPass(trial, { name: strategy, strategy, count, kills });
    const effects = await effectsOf(trial, { dir: join(trial.dir, strategy), outcomes, lateMs: landed.lateMs });
    const figures = figuresOf({ strategy, outcomes, effects, reference, referenceEffects, normalise });
    columns.push({ figures, outcomes, kills });
  }
  const own = columns.find(({ figures }) => figures.strategy === "cairn");
  return {
    agent: trial.agent.name,
    everyEdge: trial.everyEdge,
    seed: trial.seed,
    store: join(trial.dir, "cairn"),
    countedBy: countingOf(trial).by,
    casting: trial.casting,
    notDuring: notDuring(trial),
    figures: columns.map(({ figures }) => figures),
    leftOut: trial.leftOut,
    failures: own === undefined ? [] : failuresIn(own, { reference, dir }),
  };
}

const countingOf = ({ chaos, casting }: Trial): Counting => countingFor(chaos, casting);

const isCounted = (trial: Trial): boolean => countingOf(trial).by !== "calls";

const judged = (trial: Trial): ((moment: KillMoment) => boolean) => canJudge(trial.agent, isCounted(trial));

const notDuring = (trial: Trial): readonly string[] =>
  Object.keys(trial.agent.tools).filter((at) => !judged(trial)({ when: "during", name: "effect", at }));

interface Column {
  readonly figures: Figures;
  readonly outcomes: readonly Outcome[];
  readonly kills: ReadonlyMap<number, Kill>;
}

/** The moments of one uninterrupted task, for each strategy. */
async function edgesOfEach(trial: Trial): Promise<ReadonlyMap<Strategy, readonly Kill[]>> {
  const edges = new Map<Strategy, readonly Kill[]>();
  for (const strategy of trial.strategies) {
    const name = `first-${strategy}`;
    const [first] = await runPass(trial, { name, strategy, count: 1, kills: new Map() });
    edges.set(strategy, everyKill(complete(first, join(trial.dir, name)), judged(trial)));
  }
  return edges;
}

/** One kill for each moment. A kill during a call comes in the middle of it. */
const everyKill = (outcome: Outcome, isJudged: (moment: KillMoment) => boolean): readonly Kill[] =>
  numbered(momentsIn(outcome))
    .filter(isJudged)
    .map((kill) => (kill.when === "during" ? inTheMiddle(kill, tookMsIn(outcome)(kill)) : kill));

const inTheMiddle = (kill: Kill, tookMs: number): Kill => ({ ...kill, afterMs: Math.floor(tookMs / 2) });

/** How long each call of an uninterrupted task took. */
function tookMsIn({ lines }: Outcome): (kill: Kill) => number {
  const took = lines.filter((line) => line.kind === "took");
  return ({ name, nth }) => took.find((line) => line.name === name && line.nth === nth)?.ms ?? 0;
}

/** Chooses one kill for each task. If there are more tasks than moments, the moments repeat. */
function killsOf(
  trial: Trial,
  { edges, reference }: { readonly edges: readonly Kill[] | null; readonly reference: ReadonlyMap<number, Outcome> },
): ReadonlyMap<number, Kill> {
  const kills = new Map<number, Kill>();
  for (const [task, outcome] of reference) {
    const kill =
      edges === null
        ? randomKill(momentsIn(outcome), chanceFrom(`${trial.seed}/${task}`), {
            tookMs: tookMsIn(outcome),
            canJudge: judged(trial),
          })
        : (edges[(task - 1) % edges.length] ?? null);
    if (kill !== null) kills.set(task, kill);
  }
  return kills;
}

const momentsIn = ({ lines }: Outcome): readonly KillMoment[] =>
  lines.flatMap((line) => (line.kind === "moment" ? [{ when: line.when, name: line.name, at: line.where }] : []));

/** Requires that an uninterrupted task completed, because the killed ones are compared with it. */
function complete(outcome: Outcome | undefined, dir: string): Outcome {
  if (outcome?.end?.status === "completed") return outcome;
  const { end = null, why = null, run = null, task = 1 } = outcome ?? {};
  const words = end === null ? (why ?? "it did not begin") : `it ${end.status}: ${JSON.stringify(end.result)}`;
  throw new ReferenceFailed(`task ${task}: ${words}`, { run, dir });
}

const TITLES = { "in-process": "in the process", "act-then-save": "act, then save", cairn: "cairn" } as const;

async function runPass(
  trial: Trial,
  {
    name,
    strategy,
    count,
    kills,
  }: {
    readonly name: string;
    readonly strategy: Strategy;
    readonly count: number;
    readonly kills: ReadonlyMap<number, Kill>;
  },
): Promise<readonly Outcome[]> {
  const { agent, file, chaos, typed, stop, starting } = trial;
  const limits = { ...trial.limits, settleMs: settleMsOf(kills.values(), trial) };
  const tasks = new Map<number, Json>();
  for (let task = 1; task <= count; task += 1) tasks.set(task, inputFor(trial, task));
  const title = kills.size === 0 ? "uninterrupted" : TITLES[strategy];
  const onProgress = (ended: number): void => trial.onProgress(`${title}: ${ended} of ${count} tasks`);
  onProgress(0);
  const pass: TrialPass = {
    dir: join(trial.dir, name),
    agent,
    file,
    tasks,
    kills,
    limits,
    chaos,
    typed,
    stop,
    onProgress,
  };
  if (strategy === "cairn") return cairnPass(pass, starting);
  return plainPass(pass, { saves: strategy === "act-then-save", starting });
}

function inputFor({ inputOf, chaos }: Trial, task: number): Json {
  const input = asJson(inputOf(task));
  if (input.ok) return input.json;
  const whose = chaos === null ? "the input" : "what chaos gives as input";
  throw new AgentInvalid(`${whose} of task ${task} is not JSON: ${input.why}`);
}

async function referenceEffectsOf(trial: Trial, dir: string, outcomes: readonly Outcome[]): Promise<Landed> {
  const { stop, agent } = trial;
  if (!isCounted(trial)) return { effects: effectsAtCalls(outcomes), lateMs: 0 };
  const { effects: seen } = countingOf(trial);
  return countReference({ seen, dir, outcomes, stop, settleMs: longestSettleMs(agent) });
}

async function effectsOf(
  trial: Trial,
  ended: { readonly dir: string; readonly outcomes: readonly Outcome[]; readonly lateMs: number },
): Promise<readonly OutsideEffect[]> {
  if (!isCounted(trial)) return effectsAtCalls(ended.outcomes);
  return countKilled({ ...ended, seen: countingOf(trial).effects, stop: trial.stop });
}

const effectsAtCalls = (outcomes: readonly Outcome[]): readonly OutsideEffect[] =>
  outcomes.flatMap(({ task, lines }) => effectsIn(lines, task));

function failuresIn(
  { figures, outcomes, kills }: Column,
  uninterrupted: { readonly reference: ReadonlyMap<number, Outcome>; readonly dir: string },
): readonly TrialFailure[] {
  const failed = (task: number, what: string): TrialFailure => {
    const kill = kills.get(task);
    const run = outcomes.find((outcome) => outcome.task === task)?.run ?? null;
    return { task, run, killed: kill === undefined ? null : killWords(kill), what };
  };
  const lost = figures.lost.map((task) => {
    const { end = null, why = null } = outcomes.find((outcome) => outcome.task === task) ?? {};
    return failed(task, end === null ? `lost: ${why ?? ""}` : `it ${end.status}: ${JSON.stringify(end.result)}`);
  });
  const differs = (task: number): TrialFailure => {
    const expected = uninterrupted.reference.get(task);
    const seen = outcomes.find((outcome) => outcome.task === task);
    const what = `its result differs from that of the uninterrupted task: ${shown(seen)} instead of ${shown(expected)}`;
    const { dir: store } = uninterrupted;
    return { ...failed(task, what), ...(expected?.run != null && { reference: { run: expected.run, store } }) };
  };
  const more = (figures.duplicates ?? []).map(({ tool, of, times, ids }) =>
    ofNoTask(`duplicate effects of ${tool} for ${of}: ${times} (${ids.join(", ")})`),
  );
  const less = figures.missing.map(({ tool, of, times }) => ofNoTask(`missing effects of ${tool} for ${of}: ${times}`));
  return [...lost, ...figures.divergent.map(differs), ...more, ...less];
}

/** The results come from the store, which keeps no secrets. */
const shown = (outcome: Outcome | undefined): string =>
  bounded(JSON.stringify(outcome?.end?.result ?? null), RESULT_CHARACTERS_MAX);

const RESULT_CHARACTERS_MAX = 300;

const ofNoTask = (what: string): TrialFailure => ({ task: null, run: null, killed: null, what });
