/** One run with one tool, whose end is lost: its row is restored from before its first beat. */
import { z } from "zod";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { startExecution } from "../../../src/engine/context/executions.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { fenceRestored } from "../../../src/operations/restored.ts";
import { snapshotAt } from "../../../src/history/object-keys.ts";
import { ledger } from "../../../src/operations/views.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { beginRun } from "../harness/drive.ts";
import type { Harness } from "../harness/harness.ts";
import { MS } from "../harness/harness.ts";

/** A clerk whose model words its calls as `words` says, with one tool of that class. */
export function clerk(of: {
  readonly effect: "unsafe" | "probed" | "keyed";
  readonly words: () => string;
  readonly done: string[];
  readonly part?: Partial<Parameters<typeof tool>[0]>;
  readonly calls?: number;
}): Agent {
  const { effect, words, done, part = {}, calls: most = 1 } = of;
  return defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}), loops: "ignore" },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) =>
        calls.length < most ? { calls: [{ tool: "act", args: { words: words() } }] } : { text: "over" },
    }),
    tools: {
      act: tool({
        input: z.object({ words: z.string() }),
        effect,
        run: ({ key }: { readonly key: string }) => {
          done.push(key);
          return "acted";
        },
        ...(effect === "probed" && {
          probe: ({ key }: { readonly key: string }) =>
            done.includes(key) ? { kind: "happened", result: "acted" } : { kind: "absent" },
        }),
        ...part,
      } as Parameters<typeof tool>[0]),
    },
  }) as Agent;
}

/** Begins a run, ends it in the lost time, and restores the row from before its first beat. */
export async function lose(harness: Harness, agent: Agent): Promise<Row> {
  const { run } = await beginRun(harness.world, agent, {});
  const backup = structuredClone(harness.row(run));
  await harness.runUntilIdle(agent);
  if (harness.row(run).status !== "completed") throw new Error("the run did not complete");
  restoreAlone(harness, backup);
  harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  return harness.row(run);
}

/** The row as it was, and no newer object, as in the embedded store. */
export function restoreAlone({ world: { store } }: Harness, backup: Row): void {
  store.rows.set(backup.run, backup);
  for (const key of store.objects.keys())
    if ((snapshotAt(key)?.version ?? 0) > backup.snapshot.version) store.objects.delete(key);
}

export async function resume(harness: Harness, agent: Agent, run: string): Promise<void> {
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.runUntilIdle(agent);
}

export const asked = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await ledger(world, run)) ?? []).flatMap(({ status, evidence }) => (status === "unknown" ? [evidence] : []));

export const answer = (run: string, as: "succeeded" | "retry") =>
  ({ run, call: "c1", as, result: as === "succeeded" ? "acted" : null, by: "ann", note: null }) as const;
