/**
 * A boss: it hands out work by child runs, collects their memos, merges them, and decides whether another round is
 * needed. The orchestrator and the hierarchy are bosses with different caps.
 *
 * The progress names each hand-off that is settled; those under way are in the state of the run. So a new process of
 * the boss knows what is out, and what has reported.
 *
 * What each role is given is in the message that opens its section (`opening`).
 */
import { type BossOptions, type BossProgress, isAlone, isOver, workersOf } from "./core-options.ts";
import { handOffRefusal } from "./core-hand-offs.ts";
import { UNREADABLE_MAX } from "../../../core/topologies/json-in.ts";
import { type Item, afterBatch, passOver, batchOf, inWords } from "./core-merge-layer.ts";
import { nearCap } from "../../../core/topologies/react.ts";
import type {
  CallResult,
  Context,
  Move,
  Observation,
  TurnRequest,
  TopologyModule,
} from "../../../core/topologies/topology.ts";

type Setup<O> = { readonly options: O; readonly context: Context };
type Reply = Extract<Observation, { readonly kind: "reply" }>;
type Progress = BossProgress;

/** How often checks of `done` may send the run back. */
const REFUSALS_MAX = 3;

const NOTHING: Progress = {
  role: "boss",
  round: 0,
  memos: [],
  lost: [],
  unmade: [],
  items: [],
  pass: null,
  idle: 0,
  refused: 0,
  wish: "",
  sharded: false,
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
    note: `hands out work; ${counted(options.rounds, "round")} and ${counted(options.handOffsMax, "hand-off")} at most`,
    say: opening(NOTHING, options, context),
  }),
  fits: () => true,
  request: requestOf,
  observe: (progress, seen, setup) => {
    switch (seen.kind) {
      case "due":
        return due(progress, setup);
      case "reply":
        return replies[progress.role](progress, seen, setup);
      case "reopened":
        return reopened(progress, seen, setup);
      default:
        return null;
    }
  },
  refusal: ({ memos }, options, proposed) => {
    // Where the boss is a stage that runs again, the memos of an earlier run are not shown to it.
    const before = proposed.before.map((each) =>
      each.status === "succeeded" && !memos.includes(each.call) ? { ...each, status: "failed" as const } : each,
    );
    return handOffRefusal({ ...options, workers: workersOf(options) }, { ...proposed, before });
  },
  decidesAfter: ({ boss }, tool) =>
    boss.tools?.includes(tool) === true ? "the boss may call it in each round, before the memos are merged" : null,
  where: ({ role, round, memos, lost, pass }, { rounds }) => {
    const failed = lost.length === 0 ? "" : `, ${lost.length} lost`;
    const summing = pass === null ? "" : `, ${pass.left.length} still to summarise`;
    return `round ${Math.min(round + 1, rounds)} of ${rounds}, ${role}: ${counted(memos.length, "memo")}${failed}${summing}`;
  },
});

function requestOf(progress: Progress, options: BossOptions): TurnRequest {
  const { role, sharded } = progress;
  const { boss, merger, workers, shards = [] } = options;
  const { instructions, model } = role === "boss" ? boss : merger;
  const named = model === undefined ? {} : { model };
  if (role === "summary") return { role, instructions: SUMMARISE, tools: "none", ...named };
  if (role === "merger") return { role, instructions, tools: "none", ...named };
  const open = isAlone(progress, options) ? [] : sharded ? shards : [...workers, ...shards];
  return { role, instructions, tools: [...new Set([...open, ...(boss.tools ?? [])])], ...named };
}

function ask<O extends BossOptions>(progress: Progress, { options, context }: Setup<O>, note: string): Move<Progress> {
  const moved = { kind: "ask", progress, note, say: opening(progress, options, context) } as const;
  // Another round of the boss sees the memos, not the calls of the round before. What those did stands.
  return progress.role === "boss"
    ? { ...moved, repeats: { after: "", effects: "keep", refusesHandOffs: true } }
    : moved;
}

/**
 * All calls of the last reply are settled. Hand-offs among them complete a round, and so do refused ones: otherwise a
 * boss whose every hand-off is refused would stay in its first round. Work that may be handed out later, or that another
 * call has, completes none.
 */
function due<O extends BossOptions>(progress: Progress, setup: Setup<O>): Move<Progress> | null {
  if (progress.role === "boss") {
    const settled = settledNow(progress, setup);
    if (settled.length > 0) return collected(progress, settled, setup);
    const unmade = refusedNow(setup);
    const closes = (call: string): boolean =>
      !progress.unmade.includes(call) && !hasCode(setup.context, call, "NotYet");
    if (unmade.some(closes)) return refused(progress, unmade, setup);
  }
  const cracks = nearCap(setup.context);
  return cracks.length > 0 ? { kind: "signal", cracks } : null;
}

/**
 * The hand-offs that were settled since the last round, in the order in which they were handed out: which worker was the
 * slowest, or was killed, changes neither what the merger reads nor the answer.
 */
function settledNow<O extends BossOptions>(
  { memos, lost }: Progress,
  { options, context }: Setup<O>,
): readonly CallResult[] {
  const known = new Set([...memos, ...lost]);
  const all = workersOf(options);
  const settled = context.results.filter(
    ({ call, tool, isRefused }) => !isRefused && !known.has(call) && all.includes(tool),
  );
  return settled.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Calls are numbered as they are proposed: `c1`, `c2`. */
const placeOf = ({ call }: CallResult): number => Number(call.slice(1));

function collected<O extends BossOptions>(
  before: Progress,
  settled: readonly CallResult[],
  setup: Setup<O>,
): Move<Progress> {
  const [memos, lost] = [true, false].map((isMemo) =>
    settled.filter(({ outcome }) => (outcome === "succeeded") === isMemo).map(({ call }) => call),
  ) as [string[], string[]];
  const { shards = [], batch } = setup.options;
  const items = [...before.items, ...memos.map((id): Item => ({ kind: "memo", id }))];
  const unmade = refusedNow(setup);
  const isWhole = !unmade.some((call) => hasCode(setup.context, call, "NotYet"));
  const progress: Progress = {
    ...before,
    // What was refused because too many were out belongs to the same round.
    round: before.round + (isWhole ? 1 : 0),
    memos: [...before.memos, ...memos],
    lost: [...before.lost, ...lost],
    unmade,
    items,
    pass: passOver(items, batch),
    wish: "",
    sharded: shards.length > 0 && (before.sharded || setup.context.wasSignalled("rootBottleneck")),
  };
  const failed = lost.length === 0 ? "" : `, ${lost.length} lost`;
  return proceed(progress, setup, `round ${before.round + 1}: ${counted(memos.length, "memo")}${failed}`);
}

/**
 * A round whose every hand-off was refused. The boss reads why in the section that goes on. Once its rounds are used up,
 * it works without its workers, and a further attempt to hand out fails the run.
 */
function refused<O extends BossOptions>(before: Progress, unmade: readonly string[], setup: Setup<O>): Move<Progress> {
  const { options, context } = setup;
  const progress: Progress = { ...before, round: before.round + 1, unmade };
  const note = `round ${progress.round}: nothing was handed out`;
  if (before.memos.length + before.lost.length > 0 && isOver(progress, options)) return merge(progress, setup, note);
  if (progress.round > options.rounds) {
    const why = context.resultOf(before.unmade.at(-1) ?? "");
    const message = `nothing was handed out in ${counted(options.rounds, "round")}; the last call was refused: ${why}`;
    return { kind: "fail", failure: { code: "NothingHandedOut", message } };
  }
  const end = isAlone(progress, options) ? "; the boss goes on alone" : "";
  return { kind: "ask", progress, note: `${note}${end}`, tell: capsInWords(progress, options) };
}

/** The calls of workers in this section that were refused, apart from work that another call has. */
const refusedNow = <O extends BossOptions>({ options, context }: Setup<O>): readonly string[] =>
  context.results
    .filter(({ tool, isRefused }) => isRefused && workersOf(options).includes(tool))
    .map(({ call }) => call)
    .filter((call) => !hasCode(context, call, "Duplicate"));

const hasCode = ({ resultOf }: Context, call: string, code: string): boolean => resultOf(call).startsWith(`${code}: `);

/** Summarises what does not fit one section. Then comes another round, or the answer. */
function proceed<O extends BossOptions>(progress: Progress, setup: Setup<O>, note: string): Move<Progress> {
  const { pass, items } = progress;
  if (pass !== null) return ask({ ...progress, role: "summary" }, setup, `${note}; ${pass.left.length} are summarised`);
  return isOver(progress, setup.options)
    ? merge(progress, setup, note)
    : ask({ ...progress, role: "boss" }, setup, `${note}; ${items.length} reports are there`);
}

function merge<O extends BossOptions>(progress: Progress, setup: Setup<O>, note: string): Move<Progress> {
  if (progress.items.length > 0) return ask({ ...progress, role: "merger" }, setup, `${note}; the answer is written`);
  const message = `each of ${progress.lost.length} hand-offs failed, so there is nothing to merge`;
  return { kind: "fail", failure: { code: "NoMemo", message } };
}

const replies: {
  readonly [R in Progress["role"]]: (progress: Progress, seen: Reply, setup: Setup<BossOptions>) => Move<Progress>;
} = {
  boss: (progress, { message }, setup) => {
    const { options, context } = setup;
    if (progress.memos.length + progress.lost.length > 0) return merge(progress, setup, "the boss has what it needs");
    const all = workersOf(options);
    // Its hand-offs were refused, such as on the last level. So it has done the work itself.
    if (progress.unmade.length > 0 || context.results.some(({ tool, isRefused }) => isRefused && all.includes(tool))) {
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
  summary: (progress, { message }, setup) => {
    const { batch } = setup.options;
    const { pass, items } = afterBatch(progress.pass ?? { left: [], made: [] }, { batch, message });
    const next = pass === null ? { ...progress, pass, items } : { ...progress, pass };
    return proceed(next, setup, "a batch is summarised");
  },
  merger: (progress, { message }) => ({
    kind: "finish",
    progress,
    message,
    note: `the answer merges ${counted(progress.memos.length, "memo")}`,
  }),
};

/** Another round if one is left, otherwise another answer from the same memos. A user may ask for more. */
function reopened<O extends BossOptions>(
  before: Progress,
  { by, why }: Extract<Observation, { readonly kind: "reopened" }>,
  setup: Setup<O>,
): Move<Progress> {
  const isCheck = by === "checks";
  const refused = before.refused + (isCheck ? 1 : 0);
  if (refused > REFUSALS_MAX) {
    return { kind: "fail", failure: { code: "NotDone", message: `checks refused ${refused} answers:\n${why}` } };
  }
  // The words of a user are in each section anyway.
  const progress: Progress = { ...before, refused, wish: isCheck ? why : "" };
  const note = isCheck ? "the definition of done does not hold" : `a user wrote: ${why}`;
  return isOver(progress, setup.options) && progress.items.length > 0
    ? ask({ ...progress, role: "merger" }, setup, note)
    : ask({ ...progress, role: "boss" }, setup, note);
}

/** `1 memo`, `2 memos`. */
const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

const SUMMARISE = "Summarise the reports in one text that keeps every fact and figure. Answer with the text alone.";

/** What each role is given. No section shows more than one batch. */
function opening(progress: BossProgress, options: BossOptions, context: Context): string {
  const { role, items, pass, wish } = progress;
  const also = wish === "" ? [] : [`Also wanted:\n${wish}`];
  const missing = missingInWords(progress, context);
  switch (role) {
    case "summary":
      return `Summarise these reports:\n\n${inWords(pass === null ? items : batchOf(pass, options.batch), context)}`;
    case "merger":
      return [`Write the answer from these reports:\n\n${inWords(items, context)}`, ...missing, ...also].join("\n\n");
    case "boss":
      return [
        ...(items.length === 0 ? [] : [`Reports so far:\n\n${inWords(items, context)}`]),
        ...missing,
        ...also,
        capsInWords(progress, options),
      ].join("\n\n");
  }
}

/** What no report covers, so that neither the boss nor the answer passes over it. */
function missingInWords({ lost, unmade }: BossProgress, { argsOf, resultOf }: Context): readonly string[] {
  const failed = listed(lost.map((call) => `${argsOf(call)}: ${shortened(resultOf(call))}`));
  const refused = listed(unmade.map((call) => `${argsOf(call)}: ${resultOf(call)}`));
  return [
    ...(lost.length === 0 ? [] : [`These hand-offs gave no usable report:\n${failed}`]),
    ...(unmade.length === 0 ? [] : [`These calls were refused and handed out nothing:\n${refused}`]),
  ];
}

/** What is wrong with a report comes first. What its child run did is in the result of the call. */
const WHY_CHARACTERS_MAX = 300;

const shortened = (why: string): string =>
  why.length <= WHY_CHARACTERS_MAX ? why : `${why.slice(0, WHY_CHARACTERS_MAX)}…`;

/** More lines would let the section grow with the number of workers. */
const LINES_MAX = 20;

function listed(lines: readonly string[]): string {
  const more = lines.length > LINES_MAX ? [`and ${lines.length - LINES_MAX} more`] : [];
  return [...lines.slice(0, LINES_MAX), ...more].map((line) => `- ${line}`).join("\n");
}

function capsInWords(progress: BossProgress, options: BossOptions): string {
  if (isAlone(progress, options))
    return "No round is left to hand out work in. Do the work yourself, or say what is missing.";
  const { round, memos, lost, unmade, sharded } = progress;
  const { workers, shards = [], rounds, handOffsMax, fanOut } = options;
  const left = Math.min(fanOut, handOffsMax - memos.length - lost.length);
  const names = [...new Set([...(sharded ? [] : workers), ...shards])].join(", ");
  const first = `Hand out work by calling ${names}: all calls in one reply, ${left} at most, each with a part of its own.`;
  const isNoneMade = memos.length + lost.length === 0;
  if (isNoneMade && unmade.length > 0)
    return `${first} Begin with what was not handed out. Rounds left: ${rounds - round}. What no worker takes, do yourself.`;
  if (isNoneMade) return first;
  if (unmade.length > 0)
    return `${first} Begin with what was not handed out. If nothing is missing, reply without a call.`;
  return `${first} Rounds left: ${rounds - round}. If nothing is missing, reply without a call.`;
}
