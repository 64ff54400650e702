/**
 * Explores every state of a family, breadth first, so a counterexample is as short as there is one. Whether an end can
 * be reached from every state is judged at the end, over the steps that are no faults: a family may not depend on a
 * crash or a clock to go on.
 */
import { aroundSteps, flights } from "./around.ts";
import { bossSteps, notifies } from "./boss.ts";
import { STUCK, isOver, violated } from "./invariants.ts";
import { type Family, type State, canonicalFor, childrenOf, initial } from "./state.ts";
import type { Step } from "./steps.ts";
import { deliveries, workerSteps } from "./worker.ts";

export interface Counterexample {
  readonly invariant: string;
  readonly why: string;
  /** The schedule that leads to it. */
  readonly steps: readonly string[];
}

export interface Explored {
  readonly states: number;
  readonly transitions: number;
  /** Nothing was left out because of the bound. */
  readonly isComplete: boolean;
  readonly found: Counterexample | null;
}

function* stepsOf(state: State, family: Family): Generator<Step> {
  for (const index of state.runs.keys()) {
    yield* aroundSteps(state, family, index);
    const isBoss = childrenOf(family, index).length > 0;
    yield* isBoss ? bossSteps(state, family, index) : workerSteps(state, family, index);
    if (isBoss) yield* notifies(state, family, index);
    if (index > 0) yield* deliveries(state, family, index);
  }
  yield* flights(state, family);
}

/** Numbers in a buffer that grows. */
class Numbers {
  #items = new Int32Array(1 << 16);
  length = 0;

  push(item: number): void {
    if (this.length === this.#items.length) {
      const more = new Int32Array(this.length * 2);
      more.set(this.#items);
      this.#items = more;
    }
    this.#items[this.length] = item;
    this.length += 1;
  }

  at(index: number): number {
    return this.#items[index] ?? 0;
  }
}

export function explore(family: Family, { statesMax }: { readonly statesMax: number }): Explored {
  const canonical = canonicalFor(family);
  const known = new Map<string, number>();
  const cameFrom = new Numbers();
  const [sources, targets] = [new Numbers(), new Numbers()];
  const over: number[] = [];
  let transitions = 0;
  let isComplete = true;

  const meet = (state: State, from: number): { readonly index: number; readonly isNew: boolean } => {
    const text = canonical(state);
    const before = known.get(text);
    if (before !== undefined) return { index: before, isNew: false };
    const index = known.size;
    known.set(text, index);
    cameFrom.push(from);
    if (isOver(state)) over.push(index);
    return { index, isNew: true };
  };
  const done = (found: Counterexample | null): Explored => ({ states: known.size, transitions, isComplete, found });
  const pathTo = (index: number): readonly number[] => {
    const path: number[] = [];
    for (let at = index; at >= 0; at = cameFrom.at(at)) path.unshift(at);
    return path;
  };
  const replay = (index: number): readonly string[] => {
    const path = pathTo(index);
    const says: string[] = [];
    let state = initial(family);
    for (const next of path.slice(1)) {
      const step = [...stepsOf(state, family)].find(({ to }) => known.get(canonical(to)) === next);
      if (step === undefined) throw new Error("a path cannot be replayed");
      says.push(step.says);
      state = step.to;
    }
    return says;
  };

  let frontier: readonly (readonly [number, State])[] = [[meet(initial(family), -1).index, initial(family)]];
  while (frontier.length > 0) {
    const next: (readonly [number, State])[] = [];
    for (const [from, state] of frontier) {
      for (const { to, isFault } of stepsOf(state, family)) {
        transitions += 1;
        const { index, isNew } = meet(to, from);
        if (!isFault) {
          sources.push(from);
          targets.push(index);
        }
        if (!isNew) continue;
        const wrong = violated(to, family);
        if (wrong !== null) return done({ ...wrong, steps: replay(index) });
        next.push([index, to]);
      }
    }
    if (known.size > statesMax && next.length > 0) {
      isComplete = false;
      break;
    }
    frontier = next;
  }
  // A state that was not expanded may lead anywhere, so the bound decides nothing about the end.
  if (!isComplete) return done(null);
  const stuck = firstStuck({ size: known.size, over, sources, targets });
  return done(stuck === null ? null : { invariant: STUCK, why: "no end can be reached", steps: replay(stuck) });
}

/** The first state from which no end can be reached; null: there is none. */
function firstStuck(graph: {
  readonly size: number;
  readonly over: readonly number[];
  readonly sources: Numbers;
  readonly targets: Numbers;
}): number | null {
  const { size, over, sources, targets } = graph;
  // Steps by their target, as linked lists.
  const heads = new Int32Array(size).fill(-1);
  const links = new Int32Array(sources.length);
  for (let step = 0; step < sources.length; step += 1) {
    links[step] = heads[targets.at(step)] ?? -1;
    heads[targets.at(step)] = step;
  }
  const reaches = new Uint8Array(size);
  const open = [...over];
  for (const index of over) reaches[index] = 1;
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    for (let step = heads[index] ?? -1; step >= 0; step = links[step] ?? -1) {
      const source = sources.at(step);
      if (reaches[source] === 1) continue;
      reaches[source] = 1;
      open.push(source);
    }
  }
  const stuck = reaches.indexOf(0);
  return stuck < 0 ? null : stuck;
}
