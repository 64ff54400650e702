/**
 * `node bench/dial.ts [BEATS]`: compares durable steps with the same loop that stores nothing. It uses the embedded
 * world, one beat per invocation, and a model that replies in 100 ms (the fast loop of seed 4). Row writes are counted.
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
import { localWorld } from "../src/adapters/local/world.ts";
import { modelOf } from "../src/providers/model.ts";
import { executionName } from "../src/protocol/ids.ts";
import { limitsFor } from "../src/protocol/limits.ts";
import type { World } from "../src/ports/world.ts";
import { beat } from "../src/engine/loop/beat.ts";
import { CommitCache } from "../src/history/commits.ts";
import { SegmentCache } from "../src/history/load.ts";
import { startRun } from "../src/operations/start.ts";

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
  let writes = 0;
  const plain = localWorld({ store, limits, telemetry: { record: () => undefined } });
  const table: World["table"] = {
    ...plain.table,
    claim: (of) => {
      writes += 1;
      return plain.table.claim(of);
    },
    commit: (of) => {
      writes += 1;
      return plain.table.commit(of);
    },
  };
  const world = { ...plain, table };
  const agent = agentOf(mode);
  const model = modelOf(agent.model);
  const caches = { segments: new SegmentCache(), commits: new CommitCache() };
  const runner = { world, agentOf: async () => ({ kind: "agent" as const, agent, model }), ...caches };
  try {
    const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
    const { run, born } = started.row;
    const execution = executionName(run, born, 1);
    let payload = { run, born, chain: 1, epoch: 0, agent: agent.name };
    const begun = performance.now();
    for (let route = "beat"; route === "beat";) {
      const task = { payload, attempt: { execution, epoch: payload.epoch, retry: 0 } };
      const invocation = { deadline: Date.now() + limits.beatMs, drain: new AbortController().signal };
      const { reply } = await beat(runner, task, invocation);
      payload = reply;
      ({ route } = reply);
    }
    return { ms: performance.now() - begun, writes };
  } finally {
    store.close();
    rmSync(dir, { recursive: true });
  }
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

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
    ...{ "ms/beat": (medianOf(of.ms) / (beats + 1)).toFixed(2), "over, %": medianOf(over).toFixed(1) },
    "of each round": over.map((each) => each.toFixed(1)).join(" "),
  };
};
const rows = MODES.map(({ name }, index) => {
  const found = founds[index] ?? [];
  return row(name, { writes: found[0]?.writes ?? 0, ms: found.map(({ ms }) => ms) });
});
console.table([row("in memory only", { writes: 0, ms: raws }), ...rows]);
