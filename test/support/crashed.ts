/** A run whose processes died in its tool too often: it failed with `CrashLoop` and may be redriven. */
import type { Agent } from "../../src/ports/agent.ts";
import type { Retention } from "../../src/core/policy/retention.ts";
import type { Row } from "../../src/protocol/row.ts";
import { begin } from "./drive.ts";
import { MINUTE, playFor } from "./passing-time.ts";
import { type Part, type Stage, actor, chainedStage, rowOf } from "./stage.ts";
import { dieInTool, withTakeovers } from "./steps.ts";

export interface Crashed {
  readonly on: Stage;
  readonly agent: Agent;
  readonly run: string;
  /** The key of the call in which it died. */
  readonly key: string;
  /** The keys of later tool calls. */
  readonly called: string[];
  readonly row: () => Row;
}

/** How many of its processes die: one more than allowed. */
export async function crashed(
  { deaths = 2, ...part }: Part & { readonly deaths?: number } = {},
  retention: Retention | null = null,
): Promise<Crashed> {
  const on = chainedStage();
  const called: string[] = [];
  const run = (context: Parameters<NonNullable<Part["run"]>>[0]): unknown => {
    called.push(context.key);
    return part.run === undefined ? "acted" : part.run(context);
  };
  const agent = { ...withTakeovers(actor({ ...part, run }), deaths - 1), retention };
  const { run: id } = await begin(on.world, agent, {});
  const key = await dieInTool(on, agent);
  for (let death = 1; death < deaths; death += 1) await dieInTool(on, agent);
  await playFor(on, agent, MINUTE);
  return { on, agent, run: id, key, called, row: () => rowOf(on, id) };
}
