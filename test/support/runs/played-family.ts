/** A family of runs in memory, played to its end, and what it left. */
import type { Json } from "../../../src/core/json.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { timeline } from "../../../src/operations/views.ts";
import { beginRun } from "../harness/drive.ts";
import type { Harness } from "../harness/harness.ts";

export const TASKS_MAX = 400;

export const childrenOf = (harness: Harness, run: string): readonly Row[] =>
  [...harness.world.store.rows.values()].filter((row) => row.parent?.run === run);

/** The ID of the root, whose agent is the first one. */
export async function played(harness: Harness, agents: readonly Agent[], task: Json = {}): Promise<string> {
  const [first] = agents;
  const { run } = await beginRun(harness.world, first as Agent, task);
  await harness.runUntilIdle(agents, TASKS_MAX);
  return run;
}

export const kindsOf = async (harness: Harness, run: string): Promise<readonly string[]> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
