/**
 * The external service of the workers of a family. It counts effects by
 * what they are for: the call of a boss that handed the work out. Two children of one call that both act have different
 * keys, so a count by keys would take their effects for two wanted ones.
 */
import { canonical } from "../../src/codec/canonical.ts";
import type { Effect } from "../../src/core/calls/effects.ts";
import type { EventOf } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";
import { type FamilyRecord, type Told, descendantsOf } from "./family-history.ts";

/** An effect. `restart`: which attempt of its run made it. */
interface Made {
  readonly run: string;
  readonly key: string;
  readonly restart: number;
}

/** What the service did: each request that acted, and each one that took an effect back. */
export class FamilyService {
  readonly #effects: Made[] = [];
  readonly #undone = new Set<string>();
  readonly #isDeduplicated: boolean;

  constructor(effect: Effect) {
    this.#isDeduplicated = effect !== "unsafe" && effect !== "probed";
  }

  act(of: Made): void {
    if (!this.#isDeduplicated || !this.has(of.key)) this.#effects.push(of);
  }

  undo(key: string): void {
    this.#undone.add(key);
  }

  /** A human takes back what that run did. */
  undoAllOf(run: string): void {
    for (const each of this.#effects) if (each.run === run) this.undo(each.key);
  }

  has(key: string): boolean {
    return this.#effects.some((each) => each.key === key);
  }

  /**
   * How many effects of that run stand, of the attempt with the most: an operator who restarts a worker wants its work
   * again, and was told which effects stand.
   */
  standingOf(run: string): number {
    const standing = this.#effects.filter((each) => each.run === run && !this.#undone.has(each.key));
    const counts = standing.map(({ restart }) => standing.filter((each) => each.restart === restart).length);
    return Math.max(0, ...counts);
  }
}

/** An effect that stands below that run, or of itself. */
const standsBelow = (history: Pick<FamilyRecord, "stored" | "service">, run: string): boolean =>
  [run, ...descendantsOf(history, run)].some((each) => (history.service?.standingOf(each) ?? 0) > 0);

/**
 * One task that a boss hands out has one effect, whichever of its children had it, and under whichever of its calls: unless
 * a restart began the work again, or a human let an equal hand-off through.
 */
export function actsOnce(of: Told, all: readonly Told[]): readonly string[] {
  const { history } = of;
  if (history.service === undefined) return [];
  const byTask = new Map<string, { children: string[]; most: number }>();
  for (const { task, child, isWanted } of handOffsOf(of, all)) {
    const known = byTask.get(task) ?? { children: [], most: 1 };
    if (child !== null) known.children.push(child);
    if (isWanted) known.most += 1;
    byTask.set(task, known);
  }
  return [...byTask].flatMap(([task, { children, most }]) => {
    const acted = children.filter((child) => standsBelow(history, child));
    const sum = acted.reduce((count, child) => count + Math.max(1, history.service?.standingOf(child) ?? 0), 0);
    return sum > most ? [`${task} had ${sum} effects in ${acted.length} of ${children.length} children`] : [];
  });
}

interface HandedOut {
  /** What it is for, in one attempt of its boss. */
  readonly task: string;
  /** Null: a human decided about the call. */
  readonly child: string | null;
  readonly isWanted: boolean;
}

/** The hand-offs of a boss in order; of a fork, also those that it has in common with the run that it comes from. */
function handOffsOf({ state, events }: Told, all: readonly Told[]): readonly HandedOut[] {
  const { forked } = state;
  const from = all.find(({ row }) => row.run === forked?.run);
  const before = from === undefined ? [] : from.events.filter(({ version }) => version <= (forked?.version ?? 0));
  let attempt = 1;
  return [...before, ...events].flatMap((event): HandedOut[] => {
    if (event.kind === "RecoveryDecided" && event.action.kind === "restart") attempt += 1;
    const isApproved = event.kind === "HumanApprovalReceived" && event.decision.as === "approve";
    if (!isApproved && event.kind !== "ChildDispatched") return [];
    const task = `${taskOf(state, event.call)} of attempt ${attempt}`;
    return [{ task, child: isApproved ? null : (event as EventOf<"ChildDispatched">).child, isWanted: isApproved }];
  });
}

function taskOf(state: State, call: string): string {
  const parts = state.messages.flatMap((message) => message.parts);
  const asked = parts.find((part) => part.kind === "call" && part.call === call);
  return asked?.kind === "call" && asked.args.kind === "inline" ? `${asked.tool} ${canonical(asked.args.json)}` : call;
}

/** An effect that a child left unknown is asked about at its parent, or its parent was to end. */
export function asksAboutUnknown({ history, state, row, isForced }: Told, all: readonly Told[]): readonly string[] {
  const { parent } = row;
  const isUnknown = state.open.some(({ status, unbegun, intent }) => {
    return status === "unknown" && unbegun === undefined && intent !== null && intent.effect !== "none";
  });
  const above = all.find((each) => each.row.run === parent?.run);
  if (!isUnknown || isForced || above === undefined || !isHeard(above, row.run)) return [];
  const call = above.events.flatMap((event) =>
    event.kind === "ChildDispatched" && event.child === row.run ? [event.call] : [],
  )[0];
  const isAsked = above.events.some((event) => event.kind === "ToolOutcomeUnknown" && event.call === call);
  const isSettled = above.state.messages.some(({ parts }) =>
    parts.some((part) => part.kind === "result" && part.call === call && part.outcome === "unknown"),
  );
  return isAsked || isSettled || history.removed.has(row.run)
    ? []
    : [`its parent ${above.row.run.slice(-6)} is not told that an effect is unknown`];
}

/** Its report was taken in, and its call waited for it. */
const isHeard = ({ events }: Told, child: string): boolean =>
  !events.some((event) => event.kind === "ChildSuperseded" && event.child === child && event.awaited !== true) &&
  events.some(
    (event) =>
      event.kind === "MessageAbsorbed" &&
      event.stage === "taken" &&
      event.body.kind === "child" &&
      event.body.child === child &&
      event.body.status !== "completed",
  );
