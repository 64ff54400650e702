/** A process that freezes at one of its calls, is presumed dead, and thaws. */
import type { World } from "../../../src/ports/world.ts";
import type { CrashPoint } from "./crash-at-call.ts";

export interface FreezingWorld {
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
  const guarded = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        if (typeof call !== "function") return call;
        return async (...words: unknown[]): Promise<unknown> => {
          const isIt = count === of.at;
          count += 1;
          if (isIt && of.when === "before") await freeze();
          const outcome: unknown = await Reflect.apply(call, target, words);
          if (isIt && of.when === "after") await freeze();
          return outcome;
        };
      },
    });
  const { table, inbox, leases, objects, chain } = world;
  const over = (work: Promise<unknown>): Promise<false> => work.then(() => false);
  return {
    world: {
      ...world,
      ...{ table: guarded(table), inbox: guarded(inbox), leases: guarded(leases) },
      ...{ objects: guarded(objects), chain: guarded(chain) },
    },
    freezes: (work) => Promise.race([frozen.promise, over(work)]),
    thaw: () => thawed.resolve(),
  };
}
