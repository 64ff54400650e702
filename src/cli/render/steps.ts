/** Reports the progress of a command that reads a long history. */
import { setImmediate as breathe } from "node:timers/promises";
import type { Clock } from "../../ports/world.ts";
import type { OnStep } from "../../history/reader.ts";
import type { Shell } from "../shell.ts";
import { grouped } from "./words.ts";

/** Longer than the silence after which the terminal prints its own progress line. */
const PROGRESS_MS = 2_500;

export function tellSteps({ terminal }: Shell, of: { readonly clock: Clock; readonly what: string }): OnStep {
  const { clock, what } = of;
  let told = clock.now();
  terminal.waitFor(what);
  return async (left, all) => {
    // A local store answers without yielding to the event loop, so no progress could be drawn without this pause.
    await breathe();
    if (clock.now() - told < PROGRESS_MS) return;
    told = clock.now();
    terminal.waitFor(`${what}: ${grouped(left)} of ${grouped(all)} versions to go`);
  };
}
