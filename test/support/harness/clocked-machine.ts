/** A machine of a harness whose wall clock can be set. Its processes share one store, as those of a supervisor do. */
import { storeClock } from "../../../src/adapters/local/clock.ts";
import type { StoreClock } from "../../../src/ports/driven-store.ts";
import type { Clock, World } from "../../../src/ports/world.ts";
import { temporaryStore } from "../../process/fixtures/store.ts";
import { AT } from "../states/states-and-events.ts";
import { type Harness, MS } from "./harness.ts";

interface ClockedMachine {
  /** How far the wall clock is ahead of the true time; negative if behind. */
  aheadMs: number;
  /** Restarts the machine after that time. */
  restart(offMs: number): void;
  /** One poll of the supervisor. */
  follow(): void;
  /** Lets true time pass while the supervisor polls. */
  pass(ms: number): void;
  /** A process of this machine that starts now: its clock and its world. */
  process(): { readonly clock: StoreClock; readonly world: World };
}

const LOOK_MS = 600_000;

export function createClockedMachine(harness: Harness): ClockedMachine {
  const store = temporaryStore();
  let begunAt = AT - MS.hour;
  let boots = 1;
  const read = () => ({
    wall: harness.clock.now() + machine.aheadMs,
    uptime: harness.clock.now() - begunAt,
    boot: `boot ${boots}`,
  });
  const supervisor = storeClock(store, read);
  const machine: ClockedMachine = {
    aheadMs: 0,
    restart: (offMs) => {
      harness.clock.moveTo(harness.clock.now() + offMs);
      begunAt = harness.clock.now();
      boots += 1;
    },
    follow: () => supervisor.follow(),
    pass: (ms) => {
      const until = harness.clock.now() + ms;
      while (harness.clock.now() < until) {
        harness.clock.moveTo(Math.min(until, harness.clock.now() + LOOK_MS));
        supervisor.follow();
      }
    },
    process: () => {
      const clock = storeClock(store, read);
      const seen: Clock = { ...harness.clock, now: clock.now, earliest: clock.earliest };
      return { clock, world: { ...harness.world, clock: seen } };
    },
  };
  machine.follow();
  return machine;
}
