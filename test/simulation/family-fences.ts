/** Fences in histories of families: what must hold of them, and faults that a test plants to see that it is noticed. */
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { RunTable } from "../../src/ports/run-table.ts";
import { dispatchIn } from "../../src/protocol/row-fence.ts";
import type { Told } from "./family-history.ts";

/** A rule of the fence that is off. */
export const PLANTED_FENCES = ["a fence in any epoch", "a fence without its number", "the number in the key"] as const;
export type PlantedFence = (typeof PLANTED_FENCES)[number];

/** The world, whose fences are judged as they land. `mistakes` gets each one that no living process of a boss sent. */
export function withJudgedFences(
  world: MemoryWorld,
  of: { readonly planted: PlantedFence | null; readonly mistakes: string[] },
): MemoryWorld {
  const { rows } = world.store;
  const fenceChild: RunTable["fenceChild"] = async (fence) => {
    const epoch = rows.get(fence.run)?.epoch ?? 0;
    const before = rows.get(fence.child);
    const bent =
      of.planted === "a fence in any epoch"
        ? { ...fence, epoch }
        : of.planted === "a fence without its number"
          ? { ...fence, dispatch: (before === undefined ? 1 : dispatchIn(before)) + 1 }
          : fence;
    const outcome = await world.table.fenceChild(bent);
    if (outcome.kind === "fenced" && epoch !== fence.epoch) {
      of.mistakes.push(`epoch ${fence.epoch} took ${fence.child} from its process, and epoch ${epoch} has its boss`);
    }
    return outcome;
  };
  return { ...world, table: { ...world.table, fenceChild } };
}

/** Each child was taken from its processes as often as its boss decided so, or less often. */
export function fencedAsDecided({ history, events }: Told): readonly string[] {
  const decided = events.flatMap((event) => (event.kind === "ChildContinued" ? [event.child] : []));
  const children = events.flatMap((event) => (event.kind === "ChildDispatched" ? [event.child] : []));
  return children.flatMap((child) => {
    const row = history.world.store.rows.get(child);
    const times = row === undefined ? 0 : dispatchIn(row) - 1;
    const most = decided.filter((each) => each === child).length;
    return times > most ? [`child ${child.slice(-6)} was taken ${times} times, and ${most} were decided`] : [];
  });
}
