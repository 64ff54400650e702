/** A run whose process died in its tool more often than it may: it failed as `CrashLoop`, and may be redriven. */
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
  /** Of the call that it died in. */
  readonly key: string;
  /** Keys under which the tool was called since. */
  readonly called: string[];
  readonly row: () => Row;
}

/** So many of its processes die, and that is one more than may. */
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
