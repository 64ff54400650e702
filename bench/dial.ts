/**
 * `node bench/dial.ts [BEATS]`: compares durable steps with the same loop that stores nothing. It uses the embedded
 * world, one beat per invocation, and a model that replies in 100 ms. Row writes are counted.
 * Times are
 * medians of interleaved rounds: each loop is compared with the loop in memory of its own round.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";
import { openStore } from "../src/adapters/local/store/database.ts";
import { withKernel } from "../src/features/compose.ts";
import { localWorld } from "../src/adapters/local/world.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import { startRun } from "../src/operations/start.ts";
import { counting, nothing } from "./counting.ts";
import { newRunner, performBeats } from "./perform-beats.ts";
import { median } from "./statistics.ts";

const beats = Number(process.argv[2] ?? 20);
const MODEL_MS = 100;
const SAMPLES = 5;

interface Mode {
  readonly name: string;
  readonly effect: "none" | "keyed";
  readonly dial: "auto" | "always";
}

const MODES: readonly Mode[] = [
  { name: "auto, calls without effects", effect: "none", dial: "auto" },
  { name: "always, calls without effects", effect: "none", dial: "always" },
  { name: "auto, every call has an effect", effect: "keyed", dial: "auto" },
];

const look = async (turn: number): Promise<string> => `seen ${turn}`;

const agentOf = ({ effect, dial }: Mode) =>
  defineAgent({
    ...{ name: "fast", version: "1", instructions: "", task: z.object({}), dial },
    model: scriptedModel({
      name: "fast-model",
      reply: async ({ turn }) => {
        await pass(MODEL_MS);
        return turn < beats ? { text: `step ${turn}`, calls: [{ tool: "look", args: { turn } }] } : { text: "over" };
      },
    }),
    topology: { kind: "react", maxBeats: beats + 1 },
    tools: { look: tool({ input: z.object({ turn: z.number() }), effect, run: ({ input }) => look(input.turn) }) },
  });

/** The time of the same steps in memory, without durability, in milliseconds. */
async function rawMs(): Promise<number> {
  const begun = performance.now();
  for (let turn = 0; turn <= beats; turn += 1) {
    await pass(MODEL_MS);
    if (turn < beats) await look(turn);
  }
  return performance.now() - begun;
}

async function durable(mode: Mode): Promise<{ readonly ms: number; readonly writes: number }> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-bench-"));
  const store = openStore({ dir, create: true });
  const limits = limitsFor(60_000);
  const counted = nothing();
  const world = counting(withKernel(localWorld({ store, limits, telemetry: { record: () => undefined } })), counted);
  const agent = agentOf(mode);
  const runner = newRunner(world, agent);
  try {
    const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    const begun = performance.now();
    for await (const route of performBeats(started.row, () => runner)) void route;
    return { ms: performance.now() - begun, writes: counted.rowWrites };
  } finally {
    store.close();
    rmSync(dir, { recursive: true });
  }
}

// Interleaved, so that what else the machine does falls on each loop alike.
const raws: number[] = [];
const founds = MODES.map((): { readonly ms: number; readonly writes: number }[] => []);
for (let sample = 0; sample < SAMPLES; sample += 1) {
  raws.push(await rawMs());
  for (const [index, mode] of MODES.entries()) founds[index]?.push(await durable(mode));
}
const row = (loop: string, of: { readonly writes: number; readonly ms: readonly number[] }) => {
  const over = of.ms.map((ms, index) => 100 * (ms / (raws[index] ?? 0) - 1));
  return {
    ...{ loop, "row writes/beat": (of.writes / (beats + 1)).toFixed(2) },
    ...{ "ms/beat": (median(of.ms) / (beats + 1)).toFixed(2), "over, %": median(over).toFixed(1) },
    "of each round": over.map((each) => each.toFixed(1)).join(" "),
  };
};
const rows = MODES.map(({ name }, index) => {
  const found = founds[index] ?? [];
  return row(name, { writes: found[0]?.writes ?? 0, ms: found.map(({ ms }) => ms) });
});
console.table([row("in memory only", { writes: 0, ms: raws }), ...rows]);
