/** Runs of the agent with a small context: they are driven to their ends, and what became of them is read. */
import { expect } from "vitest";
import type { Payload } from "../../../src/protocol/chain.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import type { smallContextAgent } from "../agents/small-context-agent.ts";
import { beginRun, drive, runnerOf } from "../harness/drive.ts";
import { type Harness, createHarness } from "../harness/harness.ts";

type Made = ReturnType<typeof smallContextAgent>;

/** The page that a call read. */
export const pageOf = (args: unknown): number | undefined => (args as { readonly page?: number } | undefined)?.page;

/** Drives the run of the agent to its end. */
export async function outcomeOf({ agent }: Made, harness: Harness = createHarness()) {
  const { world } = harness;
  const runner = runnerOf(world, agent);
  const { run } = await harness.advanceUntilSettled(
    beginRun(world, agent, {}).then((payload) => untilItEnds(harness, runner, payload)),
  );
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const { state } = await load(world, harness.row(run), new SegmentCache());
  const kinds = events.map(({ kind }) => kind);
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  expect(await verify(world, { run })).toMatchObject({ findings: [] });
  return { run, shown: await show(world, run), events, kinds, rules, state };
}

/** Waits are over at once. */
async function untilItEnds(harness: Harness, runner: Runner, payload: Payload): Promise<Payload> {
  const reply = await drive(runner, payload);
  if (reply.route !== "wait") return reply;
  harness.clock.moveTo(harness.clock.now() + reply.seconds * 1_000);
  return untilItEnds(harness, runner, reply);
}

/** Role and first words of each message of a question. */
export const linesOf = ({ prompt }: Made["asked"][number] | Record<"prompt", never[]>): readonly string[] =>
  prompt.map(({ role, content }) => {
    const [first] = content as readonly { readonly type: string; readonly text?: string }[];
    return `${role} ${first?.text?.slice(0, 20) ?? first?.type}`;
  });
