import * as z from "zod";
import { operation, respond } from "./operation.ts";
import type { Restored } from "./restored.ts";
import type { Syntaxes } from "./syntax.ts";

export const restoredOperation = operation({
  scope: "admin",
  writes: true,
  typed: [{ command: "restored" }],
  help: "after a store was restored from a backup: fence, mark and pause every run that has not ended",
  input: z.strictObject({}),
  run: async ({ world }): Promise<{ readonly kind: "fenced" | "partly"; readonly restored: Restored }> => {
    const restored = await (await import("./restored.ts")).fenceRestored(world);
    const isWhole = restored.held.length + restored.damaged.length === 0;
    return { kind: isWhole ? "fenced" : "partly", restored };
  },
  outcomes: {
    fenced: respond.done("Every run that had not ended is fenced, marked and paused."),
    partly: respond.refused("NotFenced", "Some runs are held or damaged, and not fenced."),
  },
  over: ["store"],
  storeOnly: "it needs the store itself, or the settings of the deployment",
});

export const restoredSyntax = (): Syntaxes => ({ restored: { group: "Backups" } });
