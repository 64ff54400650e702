/** A process that freezes at one of its calls, is presumed dead, and thaws. */
import type { World } from "../../../src/ports/world.ts";
import { wrapPorts } from "../harness/ports.ts";
import type { CrashPoint } from "./crash-at-call.ts";

interface FreezingWorld {
  readonly world: World;
  /** True once it is frozen, false if its work ends without a freeze. */
  readonly freezes: (work: Promise<unknown>) => Promise<boolean>;
  readonly thaw: () => void;
}

export function freezeAtCall(world: World, of: CrashPoint): FreezingWorld {
  let count = 0;
  const thawed = Promise.withResolvers<void>();
  const frozen = Promise.withResolvers<true>();
  const freeze = (): Promise<void> => {
    frozen.resolve(true);
    return thawed.promise;
  };
  const mine = wrapPorts(world, async ({ send }) => {
    const isIt = count === of.at;
    count += 1;
    if (isIt && of.when === "before") await freeze();
    const outcome = await send();
    if (isIt && of.when === "after") await freeze();
    return outcome;
  });
  const over = (work: Promise<unknown>): Promise<false> => work.then(() => false);
  return {
    world: mine,
    freezes: (work) => Promise.race([frozen.promise, over(work)]),
    thaw: () => thawed.resolve(),
  };
}
