/**
 * A process that dies at one of its calls: every port call is counted, and from the call that the test names on,
 * no call has an effect or returns.
 */
import type { World } from "../../../src/ports/world.ts";
import { wrapPorts } from "../harness/ports.ts";
import { STRIDE } from "../gate/stride.ts";

export interface CrashPoint {
  /** The index of the call, from 0. */
  readonly at: number;
  /** `after`: the call takes effect, but its response is lost. */
  readonly when: "before" | "after";
}

interface CrashingWorld {
  readonly world: World;
  /** True if the process survives the work; resolves as soon as the work is done or the process is dead. */
  readonly survives: (work: (world: World) => Promise<unknown>) => Promise<boolean>;
}

export function crashAtCall(world: World, crash: CrashPoint): CrashingWorld {
  let count = 0;
  let isDead = false;
  let tell = (): void => undefined;
  const died = new Promise<false>((resolve) => {
    tell = () => resolve(false);
  });
  const die = (): Promise<never> => {
    isDead = true;
    tell();
    return new Promise(() => undefined);
  };
  const mine = wrapPorts(world, async ({ send }) => {
    if (isDead) return die();
    const isIt = crash.at === count;
    count += 1;
    if (isIt && crash.when === "before") return die();
    const outcome = await send();
    return isIt || isDead ? die() : outcome;
  });
  return { world: mine, survives: (work) => Promise.race([work(mine).then(() => true), died]) };
}

const CALLS_MAX = 400;

type Play = (crash: CrashPoint) => Promise<boolean>;

/**
 * Plays once per moment at which a process could die, until no such moment is left. Returns the number of moments; where
 * it plays one in so many, it may count a few more than there are.
 */
export async function forEachCrashPoint(play: Play, stride = 1): Promise<number> {
  let moments = 0;
  for (const when of ["before", "after"] as const) {
    let at = 0;
    for (; !(await play({ at, when })); at += stride) if (at > CALLS_MAX) throw new Error("it calls for ever");
    moments += at;
  }
  return moments;
}

/** The same, with one in so many moments in the gate. */
export const forSampledCrashPoints = (play: Play): Promise<number> => forEachCrashPoint(play, STRIDE);
