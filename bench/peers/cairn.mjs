/**
 * cairn as users run it, from the bundle that `bundle.ts` makes. Variants: `in-N`, in this process with N beats per invocation; `work-N`, by a supervisor with a
 * worker process, as the commands do it. Its agent makes the same texts by itself.
 */
import { join } from "node:path";

export async function open(dir, steps, variant) {
  const [how, perInvocation] = variant.split("-");
  const store = join(dir, "store");
  if (how === "in") {
    const { openRun } = await import("../../build/bench/drive.js");
    const called = (turn) => void (turn < steps.beats && steps.model(turn));
    return openRun(store, { beats: steps.beats, perInvocation: Number(perInvocation), called });
  }
  const { openMany } = await import("../../build/bench/drive-many.js");
  const { runs, beats } = steps;
  // Those of many runs would be mixed.
  const marks = runs === 1 ? join(dir, "marks.json") : undefined;
  const load = {
    runs,
    beats,
    replyMs: 0,
    perInvocation: Number(perInvocation),
    workers: 1,
    beatsPerWorker: 256,
    marks,
  };
  const many = await openMany(store, load);
  return { run: many.drive, close: many.close, marks };
}
