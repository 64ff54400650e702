/** The examples of topologies: offline, with their own models, and with the effects that they declare. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { chaos as compareChaos, compare, researcher } from "../../agents/compare/agent.ts";
import { chaos as eventChaos, event } from "../../agents/event/agent.ts";
import { chaos as invoiceChaos, invoiceClerk } from "../../agents/invoice/agent.ts";
import { chaos as letterChaos, letter } from "../../agents/letter/agent.ts";
import { branch, chaos as yearlyChaos, departmentAgent, yearly } from "../../agents/yearly/agent.ts";
import type { Chaos } from "../../src/sdk/chaos.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { audit } from "../../src/doctor/audit.ts";
import { diagnose } from "../../src/operations/diagnose.ts";
import type { World } from "../../src/ports/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Json } from "../../src/core/json.ts";
import { playRun } from "../support/runs/topology-run.ts";

function world(chaos: Chaos): string {
  const dir = mkdtempSync(join(tmpdir(), "cairn-examples-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, value] of Object.entries(chaos.env(dir))) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return dir;
}

/** Each with its results, and with what their diagnosis has evidence of: no healthy run has any. */
const EXAMPLES: readonly (readonly [string, Agent, Chaos, readonly RegExp[], readonly (readonly string[])[]])[] = [
  ["invoice", invoiceClerk as Agent, invoiceChaos, [/^Booked as B1\.$/, /^Booked as B2\.$/], [[], []]],
  ["event", event as Agent, eventChaos, [/in the Garden/, /in the Garden/], [["stalePlan"], ["stalePlan"]]],
  ["letter", letter as Agent, letterChaos, [/lighthouse keeper/, /lighthouse keeper/], [[], ["deadlock"]]],
  [
    "compare",
    compare as Agent,
    compareChaos,
    [/Epson.*Best buy for Reader 1: \w+\.$/s, /Kyocera.*Best buy/s],
    [[], []],
  ],
];

const evidenceIn = async (world: World, run: string): Promise<readonly string[]> =>
  ((await diagnose(world, run)) ?? []).flatMap(({ likely, evidence }) => (evidence.length > 0 ? [likely] : []));

/** The agents of their child runs. */
const OTHERS = [researcher, departmentAgent, branch] as readonly unknown[] as readonly Agent[];

test.each(EXAMPLES)("%s does its task, and each effect once", async (_, agent, chaos, results, cracks) => {
  const dir = world(chaos);
  for (const [index, wanted] of results.entries()) {
    const { shown, harness, run } = await playRun(agent, { input: chaos.input(index + 1) as Json, others: OTHERS });
    expect(await evidenceIn(harness.world, run)).toEqual(cracks[index]);
    expect(shown).toMatchObject({ status: "completed", result: expect.stringMatching(wanted) });
  }
  const effects = (await chaos.effects?.(dir)) ?? [];
  expect(effects.length).toBeGreaterThan(0);
  expect(new Set(effects.map(({ tool, of }) => `${tool} ${of}`)).size).toBe(effects.length);
});

test("an evening whose room is free and an invoice that is read well need no recovery", async () => {
  world(eventChaos);
  const free = await playRun(event as Agent, { input: { team: "A", taken: "" } });
  expect({ result: free.shown?.result, cracks: free.cracks }).toEqual({
    result: expect.stringContaining("in the Loft"),
    cracks: [],
  });
  expect(await evidenceIn(free.harness.world, free.run)).toEqual([]);
  world(invoiceChaos);
  const text = "Invoice 1: paper 12.50, train 80.00. Total: 92.50";
  const { shown, moves } = await playRun(invoiceClerk as Agent, { input: { text } });
  expect(shown).toMatchObject({ status: "completed", result: expect.stringMatching(/^Booked as B\d\.$/) });
  expect(moves.some(({ note }) => note.includes("back to"))).toBe(false);
});

test("an invoice whose lines do not add up is never booked", async () => {
  const dir = world(invoiceChaos);
  const { shown } = await playRun(invoiceClerk as Agent, { input: { text: "Invoice 1: paper 12.50. Total: 92.50" } });
  expect(shown).toMatchObject({
    status: "failed",
    failure: { code: "GateFailed", message: expect.stringContaining("add up to 1250") },
  });
  expect(await invoiceChaos.effects?.(dir)).toEqual([]);
});

test("the event whose room is taken shows a stale plan before anything is booked twice, whoever dies where", async () => {
  for (let at = 1; at < 80; at += 6) {
    const crash = { at, when: at % 4 === 1 ? "before" : "after" } as const;
    const dir = world(eventChaos);
    const { cracks, shown } = await playRun(event as Agent, { crash, input: eventChaos.input(2) as Json });
    expect({ cracks, status: shown?.status }).toEqual({ cracks: ["stalePlan"], status: "completed" });
    expect(await eventChaos.effects?.(dir)).toHaveLength(3);
  }
});

test("the examples put their effects last, and are told nothing else by the audit", () => {
  for (const [, agent] of EXAMPLES) {
    expect(audit(agent, limitsFor(60_000)).missing.map(({ what }) => what)).not.toContain("effects");
  }
});

test("the yearly report sums up its branches, whichever invocation of the root dies, and closes each of them once", async () => {
  for (let at = 1; at < 60; at += 9) {
    const crash = { at, when: at % 4 === 1 ? "before" : "after" } as const;
    const dir = world(yearlyChaos);
    const { shown } = await playRun(yearly as Agent, { crash, input: yearlyChaos.input(2) as Json, others: OTHERS });
    // Four branches in each department.
    const [sales, repairs] = ["Sales", "Repairs"].map((name) =>
      ["Rome", "Oslo", "Bern", "Vienna"].reduce((sum, each) => sum + 100 * `${name} ${each}`.length, 0),
    ) as [number, number];
    expect(shown).toMatchObject({
      status: "completed",
      result: { report: `Sales has ${sales}.\nRepairs has ${repairs}.`, thousands: sales + repairs },
    });
    expect(await yearlyChaos.effects?.(dir)).toHaveLength(8);
  }
});

test("a yearly report of four departments, whose root is parked while they work, gives no signal", async () => {
  world(yearlyChaos);
  const departments = ["Sales", "Repairs", "Rents", "Parts"].map((name) => ({
    name,
    branches: [`${name} Rome`, `${name} Oslo`],
  }));
  const input = { company: "Company", departments };
  const { shown, harness, run } = await playRun(yearly as Agent, { input, others: OTHERS });
  expect(shown).toMatchObject({ status: "completed", signals: [] });
  expect(await evidenceIn(harness.world, run)).toEqual([]);
});
