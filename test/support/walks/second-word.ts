/**
 * A second word of an operator, which comes before or after one port call of the invocations that carry out the first one.
 * The process of that call dies there, or it goes on.
 */
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import type { CrashPoint } from "../faults/crash-at-call.ts";
import { assertSafety } from "../gate/safety.ts";
import { STRIDE } from "../gate/stride.ts";
import { sweep } from "../harness/chain-steps.ts";
import { type Harness, neverSettles } from "../harness/harness.ts";
import { wrapPorts } from "../harness/ports.ts";

export interface TwoWordsScene {
  readonly harness: Harness;
  readonly agent: Agent;
  readonly run: string;
  /** The keys of effects outside, in order, and of those that were undone. */
  readonly done: readonly string[];
  readonly undone: readonly string[];
}

export type Say = (scene: TwoWordsScene) => Promise<string>;

export interface PairOfWords {
  readonly scene: () => Promise<TwoWordsScene>;
  readonly first: Say;
  readonly second: Say;
  /** What holds in the end. `told`: what the sender of the second word heard. */
  readonly holds: (scene: TwoWordsScene, told: string) => Promise<void> | void;
}

/** `dies`: the process dies at that moment, too. */
interface Moment extends CrashPoint {
  readonly dies: boolean;
}

interface Progress {
  calls: number;
  told: string | null;
}

/** The second word comes at that moment of the next invocations. False: they make no such call. */
async function play(pair: PairOfWords, moment: Moment): Promise<boolean> {
  const scene = await pair.scene();
  const { harness, agent } = scene;
  await pair.first(scene);
  const progress: Progress = { calls: 0, told: null };
  for (let attempts = 0; progress.told === null && attempts < ATTEMPTS_MAX; attempts += 1) {
    const next = harness.world.chain.next();
    if (next === null || next > harness.clock.now() + HORIZON_MS) break;
    const died = Promise.withResolvers<null>();
    const out = harness.startAttempt();
    const by = { moment, progress, say: () => pair.second(scene), die: () => died.resolve(null) };
    const work = out.perform({ world: atMoment(harness.world, by), agent });
    work.catch(() => undefined);
    out.end(await harness.advanceUntilSettled(Promise.race([work, died.promise])));
  }
  const isReached = progress.told !== null;
  const told = progress.told ?? (await pair.second(scene));
  await harness.runUntilIdle(agent);
  await sweep(harness.world);
  await harness.runUntilIdle(agent);
  await pair.holds(scene, told);
  return isReached;
}

const ATTEMPTS_MAX = 20;
const HORIZON_MS = 3_600_000;

/** The world of a process. All of them count their calls together. */
function atMoment(
  world: World,
  by: {
    readonly moment: Moment;
    readonly progress: Progress;
    readonly say: () => Promise<string>;
    readonly die: () => void;
  },
): World {
  const { moment, progress } = by;
  let isDead = false;
  const meet = async (): Promise<void> => {
    progress.told = await by.say();
    if (!moment.dies) return;
    isDead = true;
    by.die();
    await neverSettles();
  };
  return wrapPorts(world, async ({ send }) => {
    if (isDead) return neverSettles();
    const isIt = moment.at === progress.calls;
    progress.calls += 1;
    if (isIt && moment.when === "before") await meet();
    const outcome = await send();
    if (isIt && moment.when === "after") await meet();
    return outcome;
  });
}

/** Plays the pair at every such moment, and returns how many there were. Throws a `SafetyViolation` where it does not hold. */
export async function playAtEachMoment(name: string, pair: PairOfWords): Promise<number> {
  let moments = 0;
  for (const dies of [false, true]) {
    for (const when of ["before", "after"] as const) {
      for (let at = 0, isReached = true; isReached; at += STRIDE) {
        try {
          isReached = await play(pair, { at, when, dies });
        } catch (error) {
          assertSafety(`${name}: second word ${when} call ${at}${dies ? ", which kills" : ""}`, () => {
            throw error;
          });
        }
        if (isReached) moments += 1;
      }
    }
  }
  return moments;
}
