/**
 * A boss: it hands out work by child runs, collects their memos, merges them, and decides whether another round is
 * needed. The orchestrator and the hierarchy are bosses with different caps (seed 4).
 *
 * The progress names each hand-off that is settled; those under way are in the state of the run. So a new process of the
 * boss knows what is out, and what has reported.
 */
import type { RoleOptions } from "./debate.ts";
import { type HandOffCaps, refusalOf } from "./hand-offs.ts";
import { BOUNDS } from "../limits.ts";
import { UNREADABLE_MAX } from "./json-in.ts";
import { BATCH_MAX, type Item, type Pass, afterBatch, batchOf, inWords, passOver } from "./merge-layer.ts";
import { nearCap } from "./react.ts";
import type { CallResult, Context, Move, Observation, Request, Shape, TopologyModule } from "./topology.ts";

export interface BossOptions extends Shape, HandOffCaps {
  /** Plans the hand-offs. `tools`: what it may call itself besides; default: nothing. */
  readonly boss: RoleOptions & { readonly tools?: readonly string[] };
  /** Writes the answer from the memos. */
  readonly merger: RoleOptions;
  /** How many times the boss may hand out work. All hand-offs of one reply are one round. */
  readonly rounds: number;
  /** How many memos or summaries one section shows at most. */
  readonly batch: number;
  /** The workers that are left once the boss was a bottleneck: those that are bosses themselves. */
  readonly shards?: readonly string[];
}

export type BossProgress = {
  readonly role: "boss" | "summary" | "merger";
  /** Complete rounds: their hand-offs are settled. */
  readonly round: number;
  /** The calls of settled hand-offs: those with a memo, and those whose every try failed. */
  readonly memos: readonly string[];
  readonly lost: readonly string[];
  /** What the answer is made of: memos, and summaries of memos. */
  readonly items: readonly Item[];
  /** The pass of summaries that is under way. */
  readonly pass: Pass | null;
  /** Replies in a row without a hand-off, before the first one. */
  readonly idle: number;
  /** How often checks refused the merged answer. */
  readonly refused: number;
  /** What a user or the definition of done wants besides. */
  readonly wish: string;
  /** The boss was a bottleneck, and hands out work to shards alone. */
  readonly sharded: boolean;
};

type Of<O> = { readonly options: O; readonly context: Context };
type Reply = Extract<Observation, { readonly kind: "reply" }>;
type Progress = BossProgress;

/** How often checks of `done` may send the run back. */
const REFUSALS_MAX = 3;

const NOTHING: Progress = {
  ...{ role: "boss", round: 0, memos: [], lost: [], items: [], pass: null },
  ...{ idle: 0, refused: 0, wish: "", sharded: false },
};

/** What every boss does. A topology adds its name, its problems and its signals. */
export const bossing = <O extends BossOptions>(): Omit<
  TopologyModule<O, Progress>,
  "kind" | "problems" | "misses"
> => ({
  checkpoint: "hand-off",
  uses: ({ workers, shards = [], boss, merger }) => ({
    models: [boss, merger].flatMap(({ model }) => (model === undefined ? [] : [model])),
    tools: [...workers, ...shards, ...(boss.tools ?? [])],
    workers: [...workers, ...shards],
  }),
  begin: (options, context) => ({
    progress: NOTHING,
    note: `hands out work; ${options.rounds} rounds and ${options.handOffsMax} hand-offs at most`,
    say: opening(NOTHING, options, context),
  }),
  fits: () => true,
  request: requestOf,
  observe: (progress, seen, of) => {
    switch (seen.kind) {
      case "due":
        return due(progress, of);
      case "reply":
        return replies[progress.role](progress, seen, of);
      case "reopened":
        return reopened(progress, seen, of);
      default:
        return null;
    }
  },
  refusal: ({ memos }, options, of) => {
    // Where the boss is a stage that runs again, the memos of an earlier run are not shown to it.
    const before = of.before.map((each) =>
      each.status === "succeeded" && !memos.includes(each.call) ? { ...each, status: "failed" as const } : each,
    );
    const why = refusalOf({ ...options, workers: workersOf(options) }, { ...of, before });
    return why === null ? null : `NotStarted: ${why}`;
  },
  decidesAfter: ({ boss }, tool) =>
    boss.tools?.includes(tool) === true ? "the boss may call it in each round, before the memos are merged" : null,
  where: ({ role, round, memos, lost, pass }, { rounds }) => {
    const failed = lost.length === 0 ? "" : `, ${lost.length} lost`;
    const summing = pass === null ? "" : `, ${pass.left.length} still to summarise`;
    return `round ${Math.min(round + 1, rounds)} of ${rounds}, ${role}: ${memos.length} memos${failed}${summing}`;
  },
});

const workersOf = ({ workers, shards = [] }: BossOptions): readonly string[] => [...workers, ...shards];

function requestOf({ role, sharded }: Progress, { boss, merger, workers, shards = [] }: BossOptions): Request {
  const { instructions, model } = role === "boss" ? boss : merger;
  const named = model === undefined ? {} : { model };
  if (role === "summary") return { role, instructions: SUMMARISE, tools: "none", ...named };
  if (role === "merger") return { role, instructions, tools: "none", ...named };
  const open = sharded ? shards : [...workers, ...shards];
  return { role, instructions, tools: [...new Set([...open, ...(boss.tools ?? [])])], ...named };
}

const SUMMARISE = "Summarise the reports in one text that keeps every fact and figure. Answer with the text alone.";

/** What each role is given. No section shows more than one batch. */
function opening(progress: Progress, options: BossOptions, context: Context): string {
  const { role, items, pass, lost, wish } = progress;
  const also = wish === "" ? [] : [`Also wanted:\n${wish}`];
  const failed = lost.length === 0 ? [] : [`${lost.length} hand-offs gave no usable report: ${lost.join(", ")}.`];
  switch (role) {
    case "summary":
      return `Summarise these reports:\n\n${inWords(pass === null ? items : batchOf(pass, options.batch), context)}`;
    case "merger":
      return [`Write the answer from these reports:\n\n${inWords(items, context)}`, ...failed, ...also].join("\n\n");
    case "boss":
      return [
        ...(items.length === 0 ? [] : [`Reports so far:\n\n${inWords(items, context)}`]),
        ...failed,
        ...also,
        capsInWords(progress, options),
      ].join("\n\n");
  }
}

function capsInWords({ round, memos, lost, sharded }: Progress, options: BossOptions): string {
  const { workers, shards = [], rounds, handOffsMax, fanOut } = options;
  const left = Math.min(fanOut, handOffsMax - memos.length - lost.length);
  const names = [...new Set([...(sharded ? [] : workers), ...shards])].join(", ");
  const first = `Hand out work by calling ${names}: all calls in one reply, ${left} at most, each with a part of its own.`;
  if (round === 0) return first;
  return `${first} ${rounds - round} rounds are left. If nothing is missing, reply without a call.`;
}

function ask<O extends BossOptions>(progress: Progress, { options, context }: Of<O>, note: string): Move<Progress> {
  return { kind: "ask", progress, note, say: opening(progress, options, context) };
}

/** All calls of the last reply are settled. Hand-offs among them complete a round. */
function due<O extends BossOptions>(progress: Progress, of: Of<O>): Move<Progress> | null {
  const settled = progress.role === "boss" ? settledNow(progress, of) : [];
  if (settled.length > 0) return collected(progress, settled, of);
  const cracks = nearCap(of.context);
  return cracks.length > 0 ? { kind: "signal", cracks } : null;
}

/** The hand-offs that were settled since the last round. */
function settledNow<O extends BossOptions>(
  { memos, lost }: Progress,
  { options, context }: Of<O>,
): readonly CallResult[] {
  const known = new Set([...memos, ...lost]);
  const all = workersOf(options);
  return context.results.filter(({ call, tool, isRefused }) => !isRefused && !known.has(call) && all.includes(tool));
}

function collected<O extends BossOptions>(before: Progress, settled: readonly CallResult[], of: Of<O>): Move<Progress> {
  const [memos, lost] = [true, false].map((isMemo) =>
    settled.filter(({ outcome }) => (outcome === "succeeded") === isMemo).map(({ call }) => call),
  ) as [string[], string[]];
  const { shards = [], batch } = of.options;
  const items = [...before.items, ...memos.map((id): Item => ({ kind: "memo", id }))];
  const progress: Progress = {
    ...before,
    ...{ round: before.round + 1, memos: [...before.memos, ...memos], lost: [...before.lost, ...lost] },
    ...{ items, pass: passOver(items, batch), wish: "" },
    sharded: shards.length > 0 && (before.sharded || of.context.wasSignalled("rootBottleneck")),
  };
  const failed = lost.length === 0 ? "" : `, ${lost.length} lost`;
  return proceed(progress, of, `round ${progress.round}: ${memos.length} memos${failed}`);
}

/** Summarises what does not fit one section. Then comes another round, or the answer. */
function proceed<O extends BossOptions>(progress: Progress, of: Of<O>, note: string): Move<Progress> {
  const { pass, items } = progress;
  if (pass !== null) return ask({ ...progress, role: "summary" }, of, `${note}; ${pass.left.length} are summarised`);
  return isOver(progress, of.options)
    ? merge(progress, of, note)
    : ask({ ...progress, role: "boss" }, of, `${note}; ${items.length} reports are there`);
}

/** No further round: rounds or hand-offs are used up. */
const isOver = ({ round, memos, lost }: Progress, { rounds, handOffsMax }: BossOptions): boolean =>
  round >= rounds || memos.length + lost.length >= handOffsMax;

function merge<O extends BossOptions>(progress: Progress, of: Of<O>, note: string): Move<Progress> {
  if (progress.items.length > 0) return ask({ ...progress, role: "merger" }, of, `${note}; the answer is written`);
  const message = `each of ${progress.lost.length} hand-offs failed, so there is nothing to merge`;
  return { kind: "fail", failure: { code: "NoMemo", message } };
}

const replies: {
  readonly [R in Progress["role"]]: (progress: Progress, seen: Reply, of: Of<BossOptions>) => Move<Progress>;
} = {
  boss: (progress, { message }, of) => {
    const { options, context } = of;
    if (progress.round > 0) return merge(progress, of, "the boss has what it needs");
    const all = workersOf(options);
    // Its hand-offs were refused, such as on the last level. So it has done the work itself.
    if (context.results.some(({ tool, isRefused }) => isRefused && all.includes(tool))) {
      return { kind: "finish", progress, message, note: "the boss did the work itself" };
    }
    const idle = progress.idle + 1;
    if (idle <= UNREADABLE_MAX) {
      const tell = `Nothing is handed out yet. ${capsInWords(progress, options)}`;
      return { kind: "ask", progress: { ...progress, idle }, note: "the boss handed out nothing", tell };
    }
    const why = `the boss replied ${idle} times without handing out work`;
    return { kind: "fail", failure: { code: "NothingHandedOut", message: why } };
  },
  summary: (progress, { message }, of) => {
    const { batch } = of.options;
    const { pass, items } = afterBatch(progress.pass ?? { left: [], made: [] }, { batch, message });
    const next = pass === null ? { ...progress, pass, items } : { ...progress, pass };
    return proceed(next, of, "a batch is summarised");
  },
  merger: (progress, { message }) => ({
    ...{ kind: "finish", progress, message, note: `the answer merges ${progress.memos.length} memos` },
  }),
};

/** Another round if one is left, otherwise another answer from the same memos. A user may ask for more. */
function reopened<O extends BossOptions>(
  before: Progress,
  { by, why }: Extract<Observation, { readonly kind: "reopened" }>,
  of: Of<O>,
): Move<Progress> {
  const isCheck = by === "checks";
  const refused = before.refused + (isCheck ? 1 : 0);
  if (refused > REFUSALS_MAX) {
    return { kind: "fail", failure: { code: "NotDone", message: `checks refused ${refused} answers:\n${why}` } };
  }
  // The words of a user are in each section anyway.
  const progress: Progress = { ...before, refused, wish: isCheck ? why : "" };
  const note = isCheck ? "the definition of done does not hold" : `a user wrote: ${why}`;
  return isOver(progress, of.options) && progress.items.length > 0
    ? ask({ ...progress, role: "merger" }, of, note)
    : ask({ ...progress, role: "boss" }, of, note);
}

/** What is wrong with the options that every boss has. They may come from JavaScript. */
export function bossProblems({ workers, boss, merger, ...caps }: BossOptions): readonly string[] {
  if (!Array.isArray(workers) || workers.length === 0) return ["write workers: the names of child tools"];
  const roles = Object.entries({ boss, merger }).filter(
    ([, role]) => typeof role?.instructions !== "string" || role.instructions === "",
  );
  const numbers = Object.entries(RANGES).filter(([name, [least, most]]) => {
    const value = caps[name as keyof typeof RANGES];
    return !(Number.isSafeInteger(value) && value >= least && value <= most);
  });
  return [
    ...roles.map(([name]) => `${name} has no instructions`),
    ...numbers.map(
      ([name, [least, most]]) =>
        `${name} is ${String(caps[name as keyof typeof RANGES])}: write a whole number from ${least} to ${most}`,
    ),
  ];
}

const RANGES = {
  rounds: [1, 20],
  handOffsMax: [1, 200],
  fanOut: [1, BOUNDS.childrenMax],
  batch: [2, BATCH_MAX],
} as const;
