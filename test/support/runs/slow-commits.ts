/** Runs whose commits take time, so that a beat has none left for the calls that it releases. */
import type { Tool } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { timeline } from "../../../src/operations/views.ts";
import { replyWithCalls, sideEffectAgent } from "../agents/side-effect-agent.ts";
import { wrapTableCall } from "../harness/chain-steps.ts";
import { attemptBeat, runnerOf } from "../harness/drive.ts";
import { type Harness, advanceUntilSettled, createHarness } from "../harness/harness.ts";

/** Commits of this world take so long. A beat of 3 s has 2.5 s for its work. */
export const withSlowCommits = (harness: Harness, tookMs: () => number): World =>
  wrapTableCall(harness.world, "commit", (commit) => async (asked) => {
    const outcome = await commit(asked);
    harness.clock.moveTo(harness.clock.now() + tookMs());
    return outcome;
  });

export const postponements = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RecoveryDecided" && event.action.kind === "postpone" ? [event.action] : [],
  );

export const EFFECTS = ["none", "keyed", "idempotent", "probed", "unsafe"] as const;

/** One call that takes up to 2 s, and how long the commits of its run take. */
export function slowly(effect: (typeof EFFECTS)[number], more: Partial<Tool> = {}) {
  const harness = createHarness();
  const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { effect, timeoutMs: 2_000, ...probe, ...(more as object) },
  });
  const commits = { tookMs: 0 };
  const runner = runnerOf(
    withSlowCommits(harness, () => commits.tookMs),
    made.agent,
  );
  return { harness, runner, commits, ...made };
}

export async function next(
  { harness, runner }: Pick<ReturnType<typeof slowly>, "harness" | "runner">,
  payload: Payload,
) {
  const result = await advanceUntilSettled(harness, attemptBeat(runner, payload));
  if (result.kind !== "beat") throw new Error(`the beat ended as ${result.kind}`);
  return result.reply;
}
