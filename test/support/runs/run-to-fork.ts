/** An ended run with three calls, whose results are blobs, and what its fork really called. */
import * as z from "zod";
import { defineAgent, tool } from "../../../src/sdk/define.ts";
import { scriptedModel } from "../../../src/sdk/scripted.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Effect } from "../../../src/core/calls/effects.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { type ForkOf, type Forked, forkRun } from "../../../src/operations/fork.ts";
import { undoAndCancel } from "../../../src/operations/undo.ts";
import { startRun } from "../../../src/operations/start.ts";
import { drive, runnerOf } from "../harness/drive.ts";
import { FINAL_REPLY, type Harness, callsThenFinal, createHarness } from "../harness/harness.ts";

export const CALLS = 3;

export interface RunToFork {
  readonly harness: Harness;
  readonly agent: Agent;
  readonly run: string;
  /** The idempotency keys of the calls that ran, by run. */
  readonly called: ReadonlyMap<string, readonly string[]>;
  /** The undos that ran, of all runs. */
  readonly undoes: readonly string[];
  readonly fork: (of: Partial<ForkOf>, world?: World) => Promise<Forked>;
  /** Drives a run to its end. */
  readonly play: (row: Pick<Row, "run">) => Promise<Row>;
}

/** `undone`: its calls can be undone, and it is cancelled with compensation in its last call. */
export async function createRunToFork(effect: Effect = "keyed", undone = false, calls = CALLS): Promise<RunToFork> {
  const harness = createHarness();
  const { world } = harness;
  const called = new Map<string, string[]>();
  const undoes: string[] = [];
  const agent = defineAgent({
    ...{ name: "writer", version: "1", instructions: "", task: z.object({ topic: z.string().default("tea") }) },
    model: scriptedModel({
      name: "script",
      reply: (conversation) => (conversation.calls.length < calls ? callsThenFinal(calls)(conversation) : FINAL_REPLY),
    }),
    loops: "ignore",
    tools: {
      act: tool({
        ...{ input: z.object({}), effect },
        ...(undone && { undo: { effect: "keyed" as const, run: () => void undoes.push("act") } }),
        run: async ({ key, run }) => {
          called.set(run, [...(called.get(run) ?? []), key]);
          if (undone && called.get(run)?.length === calls) await undoAndCancel(world, { run, by: "ann" });
          return `${"word ".repeat(5_000)}${called.get(run)?.length ?? 0}`;
        },
      }),
    },
  }) as Agent;
  const play: RunToFork["play"] = async ({ run }) => {
    const { born, chain, epoch } = harness.row(run);
    await drive(runnerOf(world, agent), { run, born, chain, epoch, agent: agent.name });
    return harness.row(run);
  };
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "k" });
  if (started.kind !== "started") throw new Error(started.kind);
  const { run } = await play(started.row);
  const fork: RunToFork["fork"] = (of, through = world) =>
    forkRun(through, { run, at: 0, agent, key: null, by: "ann", confirmed: true, ...of });
  return { harness, agent, run, called, undoes, fork, play };
}

/** The row of a fork, or an error that says why there is none. */
export function rowIn(forked: Forked): Row {
  if (forked.kind === "started" || forked.kind === "exists") return forked.row;
  throw new Error(JSON.stringify(forked));
}
