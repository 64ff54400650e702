/** A model that halts in the middle of its reply, and the process in which it halts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { waitUntil } from "../gate/safety.ts";

/**
 * For agent files of tests: `halting(model, word)` is a model that speaks up to that word, and then waits until there is
 * a file `go` in the folder of its process. So a test kills a worker in the middle of a reply, however slow the machine
 * is. The file's own code comes after this.
 */
export const HALTING_MODEL = `
import { existsSync, writeFileSync as leave } from "node:fs";
import { setTimeout as halt } from "node:timers/promises";

const halting = (model, word) => ({
  ...model,
  async doStream(options) {
    const { stream, ...rest } = await model.doStream(options);
    const transform = async (part, controller) => {
      controller.enqueue(part);
      if (part.type !== "text-delta" || part.delta.trim() !== word) return;
      leave("halted", String(process.pid));
      while (!existsSync("go")) await halt(10, undefined, { signal: options.abortSignal });
    };
    return { ...rest, stream: stream.pipeThrough(new TransformStream({ transform })) };
  },
});
`;

/** Kills the process that halts in the middle of a reply. It has said so by itself: its supervisor's line may be late. */
export async function killHaltedProcess(dir: string): Promise<void> {
  const pid = await waitUntil(() => {
    const text = readFileSync(join(dir, "halted"), "utf8");
    expect(text).toMatch(/^\d+$/);
    return Number(text);
  });
  process.kill(pid, "SIGKILL");
}
