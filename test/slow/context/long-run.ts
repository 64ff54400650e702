/**
 * `node --expose-gc test/slow/context/long-run.ts local 200 1000 2000`: one run that is compacted again and again, in
 * this process. At each number of beats it prints what a beat costs there, as a line of JSON.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { counting, nothing } from "../../../bench/counting.ts";
import { newRunner } from "../../../bench/perform-beats.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { localWorld } from "../../../src/adapters/local/world.ts";
import { canonical } from "../../../src/codec/canonical.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { startRun } from "../../../src/operations/start.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { FEW_REQUESTS } from "../../../src/ports/stored-sizes.ts";
import type { World } from "../../../src/ports/world.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import type { Route } from "../../../src/protocol/chain.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import type { Row } from "../../../src/protocol/row.ts";
import { isForSummary } from "../../support/agents/small-context-agent.ts";

/** What a run costs at that number of beats. */
export interface Measured {
  readonly beats: number;
  /** Written to the stores by the beats since the last line, by each of them on average. */
  readonly bytesPerBeat: number;
  /** Objects that a process reads which does not know the run. */
  readonly coldReads: number;
  /** The messages of the longest request since the last line, and the summaries of the whole run. */
  readonly requestMessagesMax: number;
  readonly summaries: number;
  /** Messages of the transcript, and their size as canonical JSON. */
  readonly messages: number;
  readonly transcriptBytes: number;
  /** The heap in use after a collection. */
  readonly heapBytes: number;
}

/** Texts that do not repeat, as those of models and pages. */
function words(seed: number, characters: number): string {
  let [state, text] = [seed * 2_654_435_761 + 1, ""];
  while (text.length < characters) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += `${state.toString(36)} `;
  }
  return text.slice(0, characters);
}

const [REPLY_CHARACTERS, RESULT_CHARACTERS, TOKENS_MAX] = [500, 2_000, 16_000] as const;

function longRun(beats: number) {
  const seen = { replies: 0, summaries: 0, requestMessagesMax: 0 };
  const count = (messages: number): void => {
    seen.requestMessagesMax = Math.max(seen.requestMessagesMax, messages);
  };
  const cheap = scriptedModel({
    name: "cheap",
    reply: (conversation): ScriptedReply => {
      if (!isForSummary(conversation)) throw new Error("the model of summaries writes only summaries");
      seen.summaries += 1;
      count(conversation.messages.length);
      return { text: words(seen.summaries, 1_000) };
    },
  });
  const model = scriptedModel({
    name: "long",
    reply: ({ messages }): ScriptedReply => {
      count(messages.length);
      seen.replies += 1;
      if (seen.replies > beats) return { text: "over" };
      const calls = [{ tool: "look", args: { page: seen.replies } }];
      return { text: words(seen.replies, REPLY_CHARACTERS), calls };
    },
  });
  const agent = defineAgent({
    ...{ name: "long", version: "1", instructions: "Read on.", task: z.object({}), model },
    models: { cheap: { model: cheap, price: { inUsd: 1, outUsd: 1 } } },
    context: { tokensMax: TOKENS_MAX, model: "cheap" },
    budget: { beats: beats + 10 },
    topology: { kind: "react", maxBeats: beats + 10 },
    tools: {
      look: tool({
        ...{ input: z.object({ page: z.number() }), effect: "none" },
        run: ({ input }) => words(input.page + 1_000_003, RESULT_CHARACTERS),
      }),
    },
  }) as Agent;
  return { agent, seen };
}

async function main(name: string, marks: readonly number[]): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "cairn-long-run-"));
  const store = openStore({ dir, create: true });
  const counted = nothing();
  const local = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => undefined } }));
  const world = counting(name === "local" ? local : { ...local, sizes: FEW_REQUESTS }, counted);
  const { agent, seen } = longRun(marks.at(-1) ?? 0);
  const runner = newRunner(world, agent);
  try {
    const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
    let [since, left] = [0, [...marks]];
    for await (const route of performRun(runner, started.row)) {
      if (route === "done" || seen.replies < (left[0] ?? Infinity)) continue;
      const beats = seen.replies;
      const bytesPerBeat = Math.round((counted.objectBytes + counted.rowBytes) / (beats - since));
      const measured = { beats, bytesPerBeat, ...seen, heapBytes: heapBytes() };
      console.log(JSON.stringify({ ...measured, ...(await cold(world, started.row.run, counted)) } satisfies Measured));
      Object.assign(counted, nothing());
      seen.requestMessagesMax = 0;
      [since, left] = [beats, left.slice(1)];
    }
    const row = await world.table.read(started.row.run, Date.now());
    if (row?.status !== "completed") throw new Error(`the run ended as ${row?.status}`);
  } finally {
    store.close();
    rmSync(dir, { recursive: true });
  }
}

/** Performs the beats of the run, and yields the route of each. A chain is followed by the next one. */
async function* performRun(runner: Runner, { run, born, agent }: Row): AsyncGenerator<Route> {
  let payload = { run, born, chain: 1, epoch: 0, agent };
  for (let route: Route = "beat"; route === "beat" || route === "renew";) {
    const deadline = Date.now() + runner.world.limits.beatMs;
    const attempt = { execution: executionName(run, born, payload.chain), epoch: payload.epoch, retry: 0, died: null };
    const { kind, reply } = await beat(runner, { payload, attempt }, { deadline, drain: new AbortController().signal });
    if (kind !== "beat") throw new Error("the beat asked to end its process");
    payload = reply;
    ({ route } = reply);
    yield route;
  }
}

/** What a process that does not know the run reads, and what it finds. */
async function cold(world: World, run: string, counted: { readonly gets: number }) {
  const row = await world.table.read(run, Date.now());
  if (row === null) throw new Error("the run is gone");
  const before = counted.gets;
  const { state } = await load(world, row, new SegmentCache());
  const { messages } = state;
  return {
    coldReads: counted.gets - before,
    messages: messages.length,
    transcriptBytes: messages.reduce((sum, message) => sum + canonical(message).length, 0),
  };
}

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error("run it with node --expose-gc");
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const [name = "local", ...marks] = process.argv.slice(2);
await main(name, marks.map(Number));
