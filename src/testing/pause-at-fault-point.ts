/**
 * Pauses a process at a fault point, so that a test or the demo can kill it exactly there.
 *
 * The first process that reaches a fault point of `CAIRN_HOLD` writes a mark into the store and never continues. Its
 * event loop stays alive, so its supervisor still kills it at its deadline. A process that finds the mark passes.
 *
 * `CAIRN_HOLD` names one fault point of any run (`after:effect:bookFlight`, mark `held`), or one each for several runs
 * (`RUN=after:claim:3,RUN=before:put:2`, marks `held.RUN`).
 */
import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FaultPoint, OnFaultPoint } from "../ports/fault-point.ts";
import { parseFaultPoint } from "./fault-points.ts";

/** A fault point at which one process pauses. */
export interface Hold {
  /** The run to pause; null: any run. */
  readonly run: string | null;
  readonly edge: FaultPoint;
}

/** Parses `CAIRN_HOLD`. Throws if it names something that is not a fault point. */
export function holdsIn(text: string | undefined): readonly Hold[] {
  if (text === undefined || text === "") return [];
  return text.split(",").map((each) => {
    const [edgeText = "", run = null] = each.split("=").toReversed();
    const edge = parseFaultPoint(edgeText);
    if (edge === null) throw new Error(`CAIRN_HOLD=${text} is not a fault point; write for example after:effect:TOOL`);
    return { run, edge };
  });
}

/** `runInHand`: returns the run whose beat this process executes. */
export function holdAt({
  holds,
  runInHand,
  dir,
}: {
  readonly holds: readonly Hold[];
  readonly dir: string;
  readonly runInHand: () => string;
}): OnFaultPoint {
  return async (reached) => {
    const held = holds.find(
      ({ run, edge }) =>
        (run === null || run === runInHand()) &&
        reached.when === edge.when &&
        reached.name === edge.name &&
        reached.at === edge.at,
    );
    if (held !== undefined && leaveMark(dir, held)) await new Promise<never>(() => {});
  };
}

/** Writes the mark atomically. Returns false if another process has paused here before. */
function leaveMark(dir: string, { run, edge }: Hold): boolean {
  const mine = join(dir, `held-by.${process.pid}`);
  writeFileSync(mine, JSON.stringify({ pid: process.pid, edge }));
  try {
    linkSync(mine, join(dir, run === null ? "held" : `held.${run}`));
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}
