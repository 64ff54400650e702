/**
 * The external service of the workers of a family, and the operator who reconciles what it knows. It counts effects by
 * what they are for: the call of a boss that handed the work out. Two children of one call that both act have different
 * keys, so a count by keys would take their effects for two wanted ones.
 */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { Effect } from "../../src/core/calls/effects.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { show } from "../../src/operations/views.ts";
import type { Told } from "./family-history.ts";

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

/** An operator says of each call what the service knows, and that a hand-off with an unknown outcome failed. */
export async function reconcileBlocked(world: MemoryWorld, service: FamilyService): Promise<void> {
  for (const { run, status } of [...world.store.rows.values()]) {
    if (status !== "blocked") continue;
    const shown = await show(world, run);
    for (const { call, key, reconcilableFrom, answered } of shown?.unknown ?? []) {
      if (answered || world.clock.now() < reconcilableFrom) continue;
      const as = service.has(key) ? "succeeded" : "failed";
      await reconcile(world, { run, call, as, result: null, by: "ann", note: null });
    }
  }
}

/** One hand-off has one effect, whichever of its children had it, unless a restart began the work again. */
export function actsOnce({ history, events }: Told): readonly string[] {
  const { service } = history;
  if (service === undefined) return [];
  let attempt = 1;
  const byCall = new Map<string, string[]>();
  for (const event of events) {
    if (event.kind === "RecoveryDecided" && event.action.kind === "restart") attempt += 1;
    if (event.kind !== "ChildDispatched") continue;
    const name = `${event.call} of attempt ${attempt}`;
    byCall.set(name, [...(byCall.get(name) ?? []), event.child]);
  }
  return [...byCall].flatMap(([call, children]) => {
    const acted = children.map((child) => service.standingOf(child)).filter((count) => count > 0);
    const sum = acted.reduce((all, count) => all + count, 0);
    return sum > 1 ? [`${call} had ${sum} effects in ${acted.length} of ${children.length} children`] : [];
  });
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
