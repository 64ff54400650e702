/** What a command that reads a long history says meanwhile. */
import { setImmediate as breathe } from "node:timers/promises";
import type { Clock } from "../../ports/world.ts";
import type { OnStep } from "../../history/reader.ts";
import type { Shell } from "../shell.ts";
import { grouped } from "./words.ts";

/** Longer than the silence after which a log is told what is being waited for. */
const PROGRESS_MS = 2_500;

export function tellSteps({ terminal }: Shell, of: { readonly clock: Clock; readonly what: string }): OnStep {
  const { clock, what } = of;
  let told = clock.now();
  terminal.waitFor(what);
  return async (left, all) => {
    // A store in this process answers at once: without a pause nobody could be told anything.
    await breathe();
    if (clock.now() - told < PROGRESS_MS) return;
    told = clock.now();
    terminal.waitFor(`${what}: ${grouped(left)} of ${grouped(all)} versions to go`);
  };
}
