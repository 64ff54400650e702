/** A store that was restored from a backup of before an effect and its undo. */
import { expect, test } from "vitest";
import { z } from "zod";
import { startExecution } from "../../src/engine/context/executions.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { fenceRestored } from "../../src/operations/restored.ts";
import { show } from "../../src/operations/views.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness } from "../support/harness/harness.ts";
import { answer, asked, resume } from "../support/restores/clerk.ts";

type Undone = "unsafe" | "probed" | "keyed" | "idempotent";

/** A clerk that books. While `scene.isDown` its model fails for good after that, so the booking is undone. */
const bookingClerk = (effect: Undone, scene: { isDown: boolean; readonly log: string[] }): Agent =>
  defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        if (calls.length === 0) return { calls: [{ tool: "book", args: {} }] };
        if (scene.isDown) throw new Error("the model is down for good");
        return { text: "over" };
      },
    }),
    tools: {
      book: tool({
        ...{ input: z.object({}), effect },
        run: ({ key }: { readonly key: string }) => {
          scene.log.push(`book ${key}`);
          return "booked";
        },
        ...(effect === "probed" && { key: () => "order-1", probe: () => ({ kind: "happened", result: "booked" }) }),
        undo: { effect: "keyed", run: () => void scene.log.push("undo") },
      } as Parameters<typeof tool>[0]),
    },
  }) as Agent;

/** The run booked and undid that after the backup of its row; its newer objects are still there. */
async function restoredAfterUndo(effect: Undone) {
  const harness = createChainHarness();
  const scene = { isDown: true, log: [] as string[] };
  const agent = bookingClerk(effect, scene);
  const { run } = await beginRun(harness.world, agent, {});
  const backup = structuredClone(harness.row(run));
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, log: scene.log.length }).toEqual({ status: "failed", log: 2 });
  scene.isDown = false;
  harness.world.store.rows.set(run, backup);
  await fenceRestored(harness.world);
  await startExecution(harness.world, harness.row(run));
  await resume(harness, agent, run);
  return { harness, agent, run, log: scene.log };
}

test("schedule 263: a call happened in the lost time and was undone there, and its result is taken after the restore", async () => {
  for (const effect of ["unsafe", "probed", "keyed"] as const) {
    const { harness, agent, run, log } = await restoredAfterUndo(effect);
    assertSafety("a run does not go on as if a cancelled booking stood", () =>
      expect({ effect, status: harness.row(run).status, log: log.length }).toEqual({
        effect,
        status: "blocked",
        log: 2,
      }),
    );
    expect(await asked(harness, run)).toEqual([expect.stringContaining("it happened and that its undo was begun")]);
    const [question] = (await show(harness.world, run))?.unknown ?? [];
    expect(question).toMatchObject({ lostTime: true, answered: false });
    harness.clock.moveTo(question?.reconcilableFrom ?? 0);
    // A human wants it again, and is asked once.
    expect(await reconcile(harness.world, answer(run, "retry"))).toMatchObject({ kind: "accepted" });
    await harness.runUntilIdle(agent);
    expect({ effect, status: harness.row(run).status, log: log.length }).toEqual({
      effect,
      status: "completed",
      log: 3,
    });
    expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
  }
  // To write the value again is what such a class means.
  const { harness, run, log } = await restoredAfterUndo("idempotent");
  expect({ status: harness.row(run).status, log: log.length }).toEqual({ status: "completed", log: 3 });
});
