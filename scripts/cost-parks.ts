/**
 * What it costs that a run waits for a human: with an execution that stays open, and with one that ends and is followed
 * by the next one.
 */
import { newRunner } from "../bench/perform-beats.ts";
import { workload } from "../bench/workload.ts";
import type { Payload, Reply } from "../src/protocol/chain.ts";
import { executionName } from "../src/protocol/ids.ts";
import type { World } from "../src/ports/world.ts";
import { beat } from "../src/engine/loop/beat.ts";
import { park } from "../src/engine/loop/park.ts";
import { sendRequest } from "../src/engine/loop/request.ts";
import { startRun } from "../src/operations/start.ts";
import { type Counts, nothing, priced } from "./cost-counts.ts";
import { transitionsOf } from "./cost-run.ts";
import type { Process } from "./cost-worlds.ts";

/** A token of Step Functions is about this long. */
const TOKEN = "t".repeat(800);

/** What each kind of park takes, from the claim of the beat that parks to the row that the next beat claims. */
export async function measureParks(process_: Process): Promise<void> {
  const rows: Record<string, string | number>[] = [];
  for (const [kind, openParkMs] of [
    ["stays open", undefined],
    ["ends", 1],
  ] as const) {
    const counts = nothing();
    const limit = openParkMs === undefined ? {} : { openParkMs };
    await parkAndResume(process_({ beatsPerInvocation: 1, counts, ...limit }), counts);
    const { logBytes: _, ...calls } = counts;
    rows.push({ "the execution": kind, ...calls, "$ of 1,000": String(priced(counts, 1 / 1_000)["sum $"]) });
  }
  console.table(rows);
  console.log("Of one park of a paused run and its resume. The beat that follows is not counted.");
}

async function parkAndResume(world: World, counts: Counts): Promise<void> {
  const { agent } = workload(1);
  const runner = newRunner(world, agent);
  const started = await startRun(world, { agent, input: { beats: 1 }, tenant: "cost", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(`cannot start: ${started.kind}`);
  const { run, born } = started.row;
  const payload = { run, born, chain: 1, epoch: 0, agent: agent.name };
  await sendRequest(world, { run, want: "pause" });
  Object.assign(counts, nothing());
  const reply = await beaten(() => beat(runner, taskOf(payload), invocationOf(world)));
  counts.invocations += 1;
  counts.transitions += transitionsOf(reply.route);
  if (reply.route === "park") {
    counts.invocations += 1;
    await park(world, { payload: reply, attempt: { ...taskOf(reply).attempt, died: null }, token: TOKEN });
  }
  await sendRequest(world, { run, want: "resume" });
}

async function beaten(perform: () => ReturnType<typeof beat>): Promise<Reply> {
  const { reply } = await perform();
  if (reply.route !== "park" && reply.route !== "asleep") throw new Error(`the run does not wait: ${reply.route}`);
  return reply;
}

const taskOf = (payload: Payload) => ({
  payload,
  attempt: {
    execution: executionName(payload.run, payload.born, payload.chain),
    ...{ epoch: payload.epoch, retry: 0, died: null },
  },
});

const invocationOf = ({ clock, limits }: World) => ({
  deadline: clock.now() + limits.beatMs,
  drain: new AbortController().signal,
});
