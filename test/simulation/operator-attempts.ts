/**
 * Each attempt of a person is a process of its own that can die, freeze or lose its answers at any of its calls; then they
 * try again, until they are acknowledged or lose heart.
 */
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { Actor } from "./actor.ts";
import { worldOf } from "./network.ts";
import type { Sim } from "./sim.ts";

/** Whoever tries again waits up to this long. */
const AGAIN_MS = 1_500;
/** Half of the people lose heart after some attempts, where a sweeper makes up for it. */
const ATTEMPTS_MIN = 2;

/** Does what somebody wants, from the beginning after each crash. Null: they lost heart. */
export async function retryUntilAcknowledged<T>(
  sim: Sim,
  of: { readonly act: (world: World, actor: Actor) => Promise<T>; readonly mayGiveUp: () => boolean },
): Promise<T | null> {
  const { people } = sim.chances;
  const patience = sim.plan.repaired !== "nothing" && people.oneIn(2) ? ATTEMPTS_MIN + people.below(3) : Infinity;
  sim.atWork += 1;
  try {
    for (let attempt = 1; ; attempt += 1) {
      const done = await once(sim, of.act);
      if (done !== null) return done.value;
      if (attempt >= patience && of.mayGiveUp()) return null;
      await new Promise<void>((go) => sim.clock.after(people.below(AGAIN_MS), go));
    }
  } finally {
    sim.atWork -= 1;
  }
}

/** One attempt; null where it crashed or the store did not answer. */
async function once<T>(
  sim: Sim,
  act: (world: World, actor: Actor) => Promise<T>,
): Promise<{ readonly value: T } | null> {
  const actor = new Actor(sim, "person");
  const crashed = new Promise<null>((resolve) => {
    actor.whenDead(() => resolve(null));
  });
  const acted = (async () => ({ value: await act(worldOf(sim, actor), actor) }))();
  try {
    return await Promise.race([acted, crashed]);
  } catch (error) {
    const isUnreadable = error instanceof Error && error.name === "Unreadable" && actor.sawDamage;
    if (!isUnreadable && !(error instanceof StoreUnreachable)) sim.record.mistake(actor.name, error);
    return null;
  } finally {
    actor.die();
  }
}
