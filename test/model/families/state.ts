/**
 * The state of the model of a family: a boss, its child runs, and requests that are in flight. It is a value, so two
 * states are one if all their fields are equal.
 *
 * Epochs have no numbers here. Every condition only asks whether an epoch is still that of the row, so whatever names an
 * epoch keeps that answer (`inEpoch`), and a raised epoch turns it off for good. Times have none either: `settling` says
 * that `effectsSettleAt` has not passed.
 */
import type { Mutant } from "./mutants.ts";

export type Effect = "none" | "keyed" | "idempotent" | "probed" | "unsafe";
/** `misfit`: the run completed, and its answer does not fit (a malformed memo or an echo). */
export type End = "completed" | "misfit" | "failed" | "cancelled";
export type Status = "running" | End;

/** A report in the inbox of the parent. */
export interface Report {
  readonly dispatch: number;
  readonly end: End;
  readonly spent: number;
  /** The outcome of a call of the child is unknown. */
  readonly unknown: boolean;
}

/** A run: its row, its committed state, what its parent has committed about it, and what happened outside. */
export interface Run {
  // The row.
  readonly row: "absent" | "there" | "removed";
  readonly status: Status;
  /** `lost`: the process was killed or is frozen, and the row does not know it. */
  readonly owner: "none" | "live" | "lost";
  readonly settling: boolean;
  /** How often this child was dispatched, as its row knows it. */
  readonly dispatch: number;
  readonly cancel: boolean;
  readonly deaths: number;
  /** `endNotified`: the end was archived and published, and its retention runs. */
  readonly closed: boolean;
  readonly expired: boolean;
  readonly grant: number;
  /** Its own model calls. */
  readonly spent: number;
  /** It ended without waiting for its children (rule C6). */
  readonly forced: boolean;

  // Its committed state. A worker has one call with an effect.
  readonly call: "none" | "intended" | "known" | "asked";
  /** The call was released in this epoch. */
  readonly inEpoch: boolean;
  /** The process of this epoch has sent the call. */
  readonly sent: boolean;
  readonly ending: "none" | "failed" | "cancelled";
  /** How often it went on in place of a failed end, and where it stood then. */
  readonly ownTries: number;
  readonly stoodAt: string;

  // The entry in the state of its parent.
  readonly entry: "none" | "out" | "judged" | "succeeded" | "failed" | "unknown";
  /** What the parent still owes this child. The decision was committed with the entry. */
  readonly owed: "nothing" | "make" | "fence" | "reopen" | "stop" | "close";
  readonly asked: number;
  readonly reserved: number;
  readonly counted: number;
  readonly stopped: boolean;
  /** The number of the last report that was absorbed. */
  readonly heard: number;
  readonly report: Report | null;
  // The inbox of its parent.
  readonly inbox: readonly Report[];
  /** The message IDs of its reports that the parent has seen, as bits. */
  readonly seen: number;

  // Outside, and what only the checker sees.
  /** How often the effect of this business intent happened. */
  readonly effects: number;
  /** The idempotency keys under which it happened, as bits. */
  readonly keys: number;
  /** The dispatches whose end was archived, as bits. */
  readonly archives: number;
  /** Fences that were decided and have not landed. */
  readonly fencesLeft: number;
  /** Processes that died with it. */
  readonly died: number;
  /** It was asked to stop while it worked. */
  readonly wasCancelled: boolean;
  /** How often it really went on in place of an end, and how often of that at the same place as before. */
  readonly wentOn: number;
  readonly wentOnIdle: number;
}

/** A request that a lost process has sent, or will send once it thaws. It may land at any time, or never. */
export interface Flying {
  readonly kind: "make" | "fence" | "reopen" | "stop" | "close" | "deliver" | "act" | "end";
  readonly run: number;
  /** The epoch that it names is still that of the row: of the parent, or for `act` and `end` of the run itself. */
  readonly inEpoch: boolean;
  readonly dispatch: number;
  readonly grant: number;
  readonly report: Report | null;
  /** `effectsSettleAt` covers the lease of its process. */
  readonly covered: boolean;
  /** Its process was fenced by the parent. */
  readonly fenced: boolean;
}

/** How many of each may still happen. */
export interface Faults {
  readonly crashes: number;
  readonly misfits: number;
  readonly failures: number;
  readonly cancels: number;
  readonly redrives: number;
}

export interface State {
  readonly runs: readonly Run[];
  readonly flying: readonly Flying[];
  readonly left: Faults;
  /** What a step has found to be wrong; empty: nothing. */
  readonly wrong: string;
}

/** A bounded family. */
export interface Family {
  readonly name: string;
  /** The parent of each run; run 0 is the root and has none. */
  readonly parents: readonly (number | null)[];
  /** The effect class of the call of each run. Only runs without children make one. */
  readonly effects: readonly Effect[];
  /** How often a child may be dispatched. */
  readonly tries: number;
  readonly limit: number;
  readonly grant: number;
  /** What the parent adds at most when it dispatches a child again. */
  readonly more: number;
  /** Deaths that end a run. */
  readonly deathsMax: number;
  readonly faults: Faults;
  /** A worker that acted goes on by itself in place of a failed end. Nothing is reopened then. */
  readonly goesOn?: true;
  readonly without?: Mutant;
}

const ABSENT: Run = {
  ...{ row: "absent", status: "running", owner: "none", settling: false, dispatch: 1, cancel: false, deaths: 0 },
  ...{ closed: false, expired: false, grant: 0, spent: 0, forced: false },
  ...{ call: "none", inEpoch: false, sent: false, ending: "none", ownTries: 0, stoodAt: "" },
  ...{ entry: "none", owed: "nothing", asked: 1, reserved: 0, counted: 0, stopped: false, heard: 0, report: null },
  ...{ inbox: [], seen: 0, effects: 0, keys: 0, archives: 0, fencesLeft: 0, died: 0, wasCancelled: false },
  ...{ wentOn: 0, wentOnIdle: 0 },
};

export const initial = ({ parents, limit, faults }: Family): State => ({
  runs: parents.map((parent) => (parent === null ? { ...ABSENT, row: "there", grant: limit } : ABSENT)),
  flying: [],
  left: faults,
  wrong: "",
});

export const runAt = ({ runs }: State, index: number): Run => {
  const run = runs[index];
  if (run === undefined) throw new Error(`the family has no run ${index}`);
  return run;
};

export const withRun = (state: State, index: number, change: Partial<Run>): State => ({
  ...state,
  runs: state.runs.map((run, at) => (at === index ? { ...run, ...change } : run)),
});

export const childrenOf = ({ parents }: Family, index: number): readonly number[] =>
  parents.flatMap((parent, at) => (parent === index ? [at] : []));

export const parentOf = ({ parents }: Family, index: number): number | null => parents[index] ?? null;

/** The entry of a child stands until its parent has judged its report and has closed it. */
export const stands = ({ entry, owed }: Run): boolean => entry === "out" || entry === "judged" || owed !== "nothing";

/** A child that the forced end of its parent left behind, and that is not closed yet. */
export const isLeftBehind = (state: State, family: Family, at: number): boolean => {
  const parent = parentOf(family, at);
  const child = runAt(state, at);
  return parent !== null && runAt(state, parent).forced && stands(child) && child.row === "there" && !child.closed;
};

/** What a run has spent, with what its children reported. */
export const spentBy = (state: State, family: Family, index: number): number =>
  childrenOf(family, index).reduce((sum, at) => sum + runAt(state, at).counted, runAt(state, index).spent);

/** What is left of the budget of a run. What is reserved for a child that stands is not free (rule C1). */
export const freeIn = (state: State, family: Family, index: number): number => {
  const run = runAt(state, index);
  const taken = childrenOf(family, index).reduce((sum, at) => {
    const child = runAt(state, at);
    return sum + (stands(child) ? child.reserved : child.counted);
  }, run.spent);
  return run.grant - taken;
};

/** A new epoch of a run: whatever names the one before is stale from here on. */
export const raiseEpoch = (state: State, family: Family, index: number): State => ({
  ...withRun(state, index, { inEpoch: false, sent: false }),
  flying: state.flying.map((request) =>
    epochOwner(family, request) === index ? { ...request, inEpoch: false } : request,
  ),
});

/** Whose epoch a request names. */
const epochOwner = (family: Family, { kind, run }: Flying): number | null =>
  kind === "act" || kind === "end" ? run : parentOf(family, run);

/** Equal values get one number, so that a state is a short text. */
class Numbered<T extends object> {
  readonly #byText = new Map<string, number>();
  readonly #known = new WeakMap<T, number>();
  readonly #textOf: (value: T) => string;

  constructor(textOf: (value: T) => string) {
    this.#textOf = textOf;
  }

  numberOf(value: T): number {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const text = this.#textOf(value);
    const number = this.#byText.get(text) ?? this.#byText.size;
    this.#byText.set(text, number);
    this.#known.set(value, number);
    return number;
  }
}

/**
 * Returns the text of states. Requests in flight have no order. Children that are alike may change places: of the orders
 * under which the family is the same, the least text counts.
 */
export function canonicalFor(family: Family): (state: State) => string {
  const runNumbers = new Numbered<Run>((run) => JSON.stringify(Object.values(run)));
  const requestNumbers = new Numbered<Flying>(({ run: _, ...request }) => JSON.stringify(Object.values(request)));
  const orders = symmetryOf(family);
  return ({ runs, flying, left, wrong }) => {
    const texts = orders.map((order) => {
      const requests = flying.map((request) => `${order.indexOf(request.run)}:${requestNumbers.numberOf(request)}`);
      return `${order.map((at) => runNumbers.numberOf(runs[at] as Run)).join()}|${requests.toSorted().join()}`;
    });
    const least = texts.reduce((one, other) => (other < one ? other : one));
    return `${least}|${left.crashes},${left.misfits},${left.failures},${left.cancels},${left.redrives}${wrong}`;
  };
}

/** The orders of the runs under which the family is the same. */
function symmetryOf({ parents, effects }: Family): readonly (readonly number[])[] {
  const same = parents.map((_, at) => at);
  const [, first, second] = parents;
  const isPair = parents.length === 3 && first === 0 && second === 0 && effects[1] === effects[2];
  return isPair ? [same, [0, 2, 1]] : [same];
}
