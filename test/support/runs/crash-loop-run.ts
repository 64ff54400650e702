/** A run whose processes died in its tool too often: it failed with `CrashLoop` and may be redriven. */
import type { Agent } from "../../../src/ports/agent.ts";
import type { RunRetention } from "../../../src/core/policy/retention.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { beginRun } from "../harness/drive.ts";
import { type ScriptedAgentOptions, type Harness, scriptedAgent, createChainHarness, MS } from "../harness/harness.ts";
import { dieInTool, withTakeovers } from "../harness/chain-steps.ts";

export interface CrashLoopRun {
  readonly harness: Harness;
  readonly agent: Agent;
  readonly run: string;
  /** The key of the call in which it died. */
  readonly key: string;
  /** The keys of later tool calls. */
  readonly called: string[];
  readonly row: () => Row;
}

/** How many of its processes die: one more than allowed. */
export async function createCrashLoopRun(
  { deaths = 2, ...part }: ScriptedAgentOptions & { readonly deaths?: number } = {},
  retention: RunRetention | null = null,
): Promise<CrashLoopRun> {
  const harness = createChainHarness();
  const called: string[] = [];
  const run = (context: Parameters<NonNullable<ScriptedAgentOptions["run"]>>[0]): unknown => {
    called.push(context.key);
    return part.run === undefined ? "acted" : part.run(context);
  };
  const agent = { ...withTakeovers(scriptedAgent({ ...part, run }), deaths - 1), retention };
  const { run: id } = await beginRun(harness.world, agent, {});
  const key = await dieInTool(harness, agent);
  for (let death = 1; death < deaths; death += 1) await dieInTool(harness, agent);
  await harness.runForTime(agent, MS.minute);
  return { harness, agent, run: id, key, called, row: () => harness.row(id) };
}
