/** A small run on the AWS world, driven like a chain: the next attempt follows a failed one. */
import type { RunLabels } from "../../../src/core/ids.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { startRun } from "../../../src/operations/start.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { attemptBeat } from "../harness/drive.ts";
import { scriptedAgent, callsThenFinal } from "../harness/harness.ts";

const TRIES_MAX = 5;
const BEATS_MAX = 20;

/** `calls` keyed calls, one after another, then the end; `onCall` gets each key. */
export const caller = (calls: number, onCall: (key: string) => unknown = () => undefined): Agent =>
  scriptedAgent({
    reply: callsThenFinal(calls),
    run: ({ key }) => {
      onCall(key);
      return "acted";
    },
  });

/** Retries until the store can be reached, like a caller that learned that nothing was decided. */
export async function again<T>(act: (retry: number) => Promise<T>): Promise<T> {
  for (let retry = 0; ; retry += 1) {
    try {
      return await act(retry);
    } catch (error) {
      if (!(error instanceof StoreUnreachable) || retry === TRIES_MAX - 1) throw error;
    }
  }
}

export async function started(
  world: World,
  of: { readonly agent: Agent; readonly tenant: string; readonly key: string; readonly labels?: RunLabels },
): Promise<Payload> {
  const { agent, tenant, key: idempotencyKey, labels } = of;
  const outcome = await again(() => startRun(world, { agent, input: {}, tenant, idempotencyKey, labels }));
  if (!("row" in outcome)) throw new Error(`it was not started: ${outcome.kind}`);
  const { run, born, chain, epoch } = outcome.row;
  return { run, born, chain, epoch, agent: agent.name };
}

const rowOf = (world: World, run: string) => world.table.read(run, world.clock.now());

/** Drives beat after beat to the end of the run; returns its routes. */
export async function driven(runner: Runner, from: Payload): Promise<string> {
  let payload = from;
  for (let beat = 0; beat < BEATS_MAX; beat += 1) {
    const entered = payload;
    const result = await again((retry) => attemptBeat(runner, entered, retry));
    if (result.kind !== "beat") throw new Error(`a beat answered ${result.kind}`);
    const { reply } = result;
    // A store did not answer; the chain would pause here.
    const isAway = reply.route === "wait" && (await again(() => rowOf(runner.world, reply.run)))?.storeOutage !== null;
    if (reply.route !== "beat" && !isAway) return reply.route;
    payload = reply;
  }
  throw new Error(`the run is not over after ${BEATS_MAX} beats`);
}
