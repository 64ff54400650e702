/** Reports the progress of a command that reads a long history. */
import { setImmediate as breathe } from "node:timers/promises";
import type { OnStep } from "../history/reader.ts";
import type { Shell } from "./shell.ts";
import { grouped } from "../render/words.ts";

/** Longer than the silence after which the terminal prints its own progress line. */
const PROGRESS_MS = 2_500;

export function tellSteps(
  { terminal }: Shell,
  { now, what }: { readonly now: () => number; readonly what: string },
): OnStep {
  let told = now();
  terminal.waitFor(what);
  return async (left, all) => {
    // A local store answers without yielding to the event loop, so no progress could be drawn without this pause.
    await breathe();
    if (now() - told < PROGRESS_MS) return;
    told = now();
    terminal.waitFor(`${what}: ${grouped(left)} of ${grouped(all)} versions to go`);
  };
}
