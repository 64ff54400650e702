/** An answer about an unknown outcome, and another word of an operator behind it. */
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { createChainHarness } from "../support/harness/harness.ts";
import { answer, clerk, lose, resume } from "../support/restores/clerk.ts";

test("schedule 265: an operator answers an unknown outcome and cancels or restarts before the run takes it in; the answer holds", async () => {
  for (const next of ["cancel", "compensate", "restart"] as const) {
    for (const as of ["succeeded", "failed"] as const) {
      const harness = createChainHarness();
      const agent = clerk({ effect: "unsafe", words: () => "pay", done: [] });
      const { run } = await lose(harness, agent);
      await resume(harness, agent, run);
      harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
      const said = { ...answer(run, "succeeded"), as, result: as === "succeeded" ? "acted" : null };
      expect(await reconcile(harness.world, said)).toMatchObject({ kind: "accepted" });
      if (next === "cancel") await sendRequest(harness.world, { run, want: "cancel" });
      else await requestCompensation(harness.world, { run, next: next === "restart" ? next : "cancel", by: "ann" });
      await harness.runUntilIdle(agent);
      const [first] = (await ledger(harness.world, run)) ?? [];
      assertSafety("what an operator found outside is not unknown again", () =>
        expect({ next, as, first }).toMatchObject({ next, as, first: { call: "c1", status: "reconciled" } }),
      );
      expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
    }
  }
});

test("schedule 206: an operator answers an unknown outcome of a paused run, and cancels or restarts it before it goes on; the answer holds", async () => {
  for (const next of ["cancel", "compensate", "restart"] as const) {
    for (const as of ["succeeded", "failed"] as const) {
      const harness = createChainHarness();
      const agent = clerk({ effect: "unsafe", words: () => "pay", done: [] });
      const { run } = await lose(harness, agent);
      await resume(harness, agent, run);
      harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
      await sendRequest(harness.world, { run, want: "pause" });
      await harness.runUntilIdle(agent);
      const said = { ...answer(run, "succeeded"), as, result: as === "succeeded" ? "acted" : null };
      expect(await reconcile(harness.world, said)).toMatchObject({ kind: "accepted" });
      // The paused run takes the answer in, and does not apply it.
      await harness.runUntilIdle(agent);
      expect(harness.row(run)).toMatchObject({ status: "paused" });
      if (next === "cancel") await sendRequest(harness.world, { run, want: "cancel" });
      else await requestCompensation(harness.world, { run, next: next === "restart" ? next : "cancel", by: "ann" });
      await harness.runUntilIdle(agent);
      const [first] = (await ledger(harness.world, run)) ?? [];
      assertSafety("what an operator found outside is not unknown again", () =>
        expect({ next, as, first }).toMatchObject({ next, as, first: { call: "c1", status: "reconciled" } }),
      );
      expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
    }
  }
});
