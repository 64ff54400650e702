/** Runs with code that never answers: their attempts one after another, and how long each took in virtual time. */
import type { Agent, ToolSource } from "../../../src/ports/agent.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { timeline } from "../../../src/operations/views.ts";
import { startKeyedRun } from "./chain-steps.ts";
import { runnerOf } from "./drive.ts";
import type { Harness } from "./harness.ts";

/** More than it takes until a run whose process dies in each of them has failed. */
const ATTEMPTS = 14;
const HORIZON_MS = 3_600_000;

/** A server of tools that a test plays. */
export const sourceOf = (list: ToolSource["list"]): ToolSource => ({
  ...{ label: "MCP server mute", prefix: "mute_", timeoutMs: null, startsProcess: false },
  list,
});

interface PlayedRun {
  readonly row: Row;
  /** How long each attempt took, in milliseconds. */
  readonly took: readonly number[];
  readonly timeline: string;
}

/** Starts a run and plays its attempts until none goes on by itself. */
export async function playAttempts(
  harness: Harness,
  agent: Agent,
  change: (runner: Runner) => Runner = (plain) => plain,
): Promise<PlayedRun> {
  const { world, clock } = harness;
  const perform = runTask(change(runnerOf(world, agent)));
  const { run } = await startKeyedRun(world, { agent, key: "k" });
  const took: number[] = [];
  const goesOn = (): boolean => {
    const next = world.chain.next();
    return !harness.row(run).endNotified && next !== null && next <= clock.now() + HORIZON_MS;
  };
  while (took.length < ATTEMPTS && goesOn()) {
    const out = harness.startAttempt();
    const begun = clock.now();
    const invocation = { deadline: begun + world.limits.beatMs, drain: new AbortController().signal };
    const result = await harness.advanceUntilSettled(perform(out.task, invocation));
    took.push(clock.now() - begun);
    out.end(result);
  }
  return { row: harness.row(run), took, timeline: JSON.stringify(await timeline(world, { run, after: 0 })) };
}

/** How often the record says that the run waits for code. */
export const waitsForCode = ({ timeline: text }: PlayedRun): number =>
  text.match(/agent cannot be loaded/g)?.length ?? 0;

/** The agent with a server that is silent when it is asked for the n-th time. */
export function silentAt(of: { readonly agent: Agent; readonly silent: (n: number) => boolean }): Agent {
  let questions = 0;
  const list: ToolSource["list"] = () => {
    questions += 1;
    return of.silent(questions) ? new Promise(() => undefined) : Promise.resolve({});
  };
  return { ...of.agent, sources: [sourceOf(list)] };
}
