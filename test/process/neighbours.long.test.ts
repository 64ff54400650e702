/**
 * A run whose tool ends the process, or never returns to it, beside runs with calls that nothing can repeat. With the real
 * worker: it says which code it has loaded, and which function it was in.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { startRun } from "../../src/operations/start.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { assertSafety, waitUntil } from "../support/gate/safety.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { askCairn, createCliFolder, spawnCairn } from "../support/processes/cli-process.ts";

const NEIGHBOURS = 15;

/** `harm`: what the tool of the first run does, each time. */
const agentText = (harm: string) => `
import { appendFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const input = z.object({});
const note = (what, run) => appendFileSync(new URL("./log", import.meta.url), JSON.stringify({ what, run, pid: process.pid }) + "\\n");
export const mixed = defineAgent({
  name: "mixed", version: "1", instructions: "", task: z.object({ harms: z.boolean() }),
  model: scriptedModel({
    name: "m",
    reply: ({ task, calls }) =>
      calls.length === 0 ? { calls: [{ tool: task.json.harms ? "harm" : "pay", args: {} }] } : { text: "done" },
  }),
  tools: {
    pay: tool({ effect: "unsafe", input, run: async ({ run }) => { note("paid", run); await wait(400); return "paid"; } }),
    harm: tool({ effect: "none", input, timeoutMs: 2_000, run: ({ run }) => { note("harm", run); ${harm} } }),
  },
});`;

interface Noted {
  readonly what: "paid" | "harm";
  readonly run: string;
  readonly pid: number;
}

async function play(harm: string, beatSeconds: number) {
  const at = createCliFolder({ CAIRN_BEAT_SECONDS: String(beatSeconds) });
  writeFileSync(join(at.dir, "clerk.ts"), agentText(harm));
  const store = openStore({ dir: at.store, create: true });
  const world = withKernel(
    localWorld({ store, limits: limitsFor(beatSeconds * 1_000), telemetry: { record: () => {} } }),
  );
  const agent = { ...scriptedAgent({}), name: "mixed", task: z.object({ harms: z.boolean() }) };
  const runs: string[] = [];
  for (let index = 0; index <= NEIGHBOURS; index += 1) {
    const asked = { agent, input: { harms: index === 0 }, tenant: "local", idempotencyKey: null };
    const started = await startRun(world, asked);
    if (started.kind !== "started") throw new Error(started.kind);
    runs.push(started.row.run);
  }
  const supervisor = spawnCairn(at, ["work", "--json", "--workers", "1"]);
  const rowsOf = (of: readonly string[]): Promise<readonly (Row | null)[]> =>
    Promise.all(of.map((run) => world.table.read(run, world.clock.now())));
  const [harming = "", ...neighbours] = runs;
  const noted = (): readonly Noted[] => {
    const file = join(at.dir, "log");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    return lines.map((line) => JSON.parse(line) as Noted);
  };
  const end = async (): Promise<void> => {
    supervisor.child.kill("SIGTERM");
    await supervisor.ended;
    store.close();
  };
  return { at, world, supervisor, harming, neighbours, rowsOf, noted, end };
}

it("a run that ends its process from its first beat on costs 15 neighbours with unsafe calls nothing", async () => {
  const { harming, neighbours, rowsOf, noted, end } = await play("process.exit(7);", 60);
  await waitUntil(async () => {
    const statuses = (await rowsOf(neighbours)).map((row) => row?.status);
    expect(statuses).toEqual(neighbours.map(() => "completed"));
    // It was tried again beside them.
    expect(noted().filter(({ what }) => what === "harm").length).toBeGreaterThanOrEqual(2);
  }, LIMITS.sceneMs);
  const [row] = await rowsOf([harming]);
  const paid = noted().filter(({ what }) => what === "paid");
  const harmed = new Set(noted().flatMap(({ what, pid }) => (what === "harm" ? [pid] : [])));
  await end();
  assertSafety("each neighbour paid once, and no process of the other run had one", () => {
    expect(paid.map(({ run }) => run).toSorted()).toEqual([...neighbours].toSorted());
    expect(paid.filter(({ pid }) => harmed.has(pid))).toEqual([]);
  });
  expect(row?.deaths).toBeGreaterThan(0);
  // They did share a process once the code was known.
  expect(new Set(paid.map(({ pid }) => pid)).size).toBeLessThan(NEIGHBOURS);
});

it("a tool that never returns to its process is a death, which names the tool in the record of the run", async () => {
  const { at, harming, rowsOf, end } = await play("for (;;);", 6);
  await waitUntil(async () => {
    const [row] = await rowsOf([harming]);
    expect(row?.deaths).toBeGreaterThanOrEqual(2);
  }, LIMITS.sceneMs);
  await waitUntil(async () => {
    const { out } = await askCairn(at, ["timeline", harming, "--json"]);
    expect(out).toContain("killed at its deadline, while tool harm was at work");
  }, LIMITS.sceneMs);
  await end();
});
