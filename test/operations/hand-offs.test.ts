/** What operators see of a hand-off that failed after its child run had acted, and what a fork and a restart make of it. */
import { beforeAll, describe, expect, test } from "vitest";
import { effectsOf } from "../../src/operations/compensate.ts";
import { listGates } from "../../src/operations/approvals.ts";
import { diagnose } from "../../src/operations/diagnose.ts";
import { forkRun } from "../../src/operations/fork.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { show } from "../../src/operations/views.ts";
import { renderRun } from "../../src/render/run.ts";
import { plain } from "../../src/render/paint.ts";
import { type PayerOptions, Till, payer, payingBoss } from "../support/agents/payers.ts";
import { createChainHarness, MS } from "../support/harness/harness.ts";
import { played } from "../support/runs/played-family.ts";

async function family(of: Partial<PayerOptions>, boss?: Parameters<typeof payingBoss>[0]) {
  const harness = createChainHarness();
  const agents = [payingBoss(boss), payer({ effect: "unsafe", till: new Till(), ...of })];
  const run = await played(harness, agents);
  return { harness, world: harness.world, run, agent: agents[0] ?? null };
}

describe("a hand-off that failed after its child had paid", () => {
  let it: Awaited<ReturnType<typeof family>>;
  beforeAll(async () => {
    it = await family({ result: () => ({ text: 1 }) });
  });

  test("is an effect that stands for a restart", async () => {
    expect(await effectsOf(it.world, it.run)).toMatchObject({ standing: ["ask (c1)"], undoable: [] });
  });

  test("has a fork before it confirmed, as one that succeeded has", async () => {
    const asked = { run: it.run, at: 0, agent: it.agent, key: null, by: "ann" };
    expect(await forkRun(it.world, { ...asked, confirmed: false })).toEqual({
      kind: "notConfirmed",
      effects: {
        later: [expect.stringMatching(/^ask \(c1\), which did not succeed after pay \(c1, of run .*\) happened$/)],
        undone: [],
      },
    });
    expect(await forkRun(it.world, { ...asked, confirmed: true })).toMatchObject({ kind: "started" });
  });

  test("is named by the diagnosis", async () => {
    const found = (await diagnose(it.world, it.run))?.find(({ likely }) => likely === "lostHandoff");
    expect(found?.evidence.at(-1)).toMatch(/^ask \(c1\) is failed, after pay \(c1, of run .*\) happened$/);
  });
});

test("a question about a hand-off lists what its child run did, for operators and in the document", async () => {
  const it = await family({ fate: () => "unknown" }, { child: { deadlineMs: 2_000 } });
  const shown = await show(it.world, it.run);
  expect(shown).toMatchObject({
    status: "blocked",
    unknown: [{ call: "c1", did: [expect.stringMatching(/^pay \(c1, of run .*\) may have happened$/)] }],
  });
  if (shown === null) throw new Error("the run is there");
  const command = (...words: readonly string[]) => `cairn ${words.join(" ")}`;
  const page = { now: it.harness.row(it.run).createdAt, paint: plain, width: 200, command };
  expect(renderRun(shown, page as never)).toMatch(/its run +pay \(c1, of run .*\) may have happened/);
  const found = (await diagnose(it.world, it.run))?.find(({ likely }) => likely === "lostHandoff");
  expect(found?.evidence.at(-1)).toMatch(/^ask \(c1\) is unknown, after pay .* may have happened$/);
});

const ALL = { tenant: "local", after: null, bytesMax: null };

test("a hand-off that blocks its boss is listed among what waits for a human, until it is reconciled", async () => {
  const { harness, world, run } = await family({ fate: () => "unknown" }, { child: { deadlineMs: 2_000 } });
  const did = [expect.stringMatching(/^pay \(c1, of run .*\) may have happened$/)];
  const listed = await listGates(world, ALL);
  expect(listed).toMatchObject({ unknown: [{ run, agent: "boss", call: "c1", tool: "ask", did }], gates: [] });
  const small = await listGates(world, { ...ALL, bytesMax: 1 });
  expect(small).toMatchObject({ unknown: [{ run, did, args: null, omitted: ["args"] }] });
  harness.clock.moveTo(harness.clock.now() + 10 * MS.settle + world.limits.beatMs);
  const answer = { as: "failed", result: null, by: "eve", note: null } as const;
  expect(await reconcile(world, { run, call: "c1", ...answer })).toEqual({ kind: "accepted" });
  expect((await listGates(world, ALL)).unknown).toEqual([]);
});

test("a call of a run without children whose outcome is unknown is listed, too", async () => {
  const harness = createChainHarness();
  const run = await played(harness, [payer({ effect: "unsafe", till: new Till(), fate: () => "unknown" })], {
    part: 0,
  });
  expect(await listGates(harness.world, ALL)).toMatchObject({
    unknown: [{ run, agent: "worker", call: "c1", tool: "pay", args: { part: 0 }, did: [], answered: false }],
    next: null,
  });
});
