/** Runs whose commits take time, so that a beat has none left for the calls that it releases. */
import { timeline } from "../../../src/operations/views.ts";
import type { Harness } from "../harness/harness.ts";

export const postponements = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RecoveryDecided" && event.action.kind === "postpone" ? [event.action] : [],
  );
