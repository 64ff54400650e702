/**
 * Writes whose answers do not come: the very same write is sent again, and one's own work is recognised in the row that
 * a refusal shows. Over the real runner and a store in memory; between them a network that loses and delays.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { StoreUnreachable, type TelemetryRecord, type World } from "../../src/ports/world.ts";
import {
  WriteUnresolved,
  resolveAmbiguousWrite,
  resolveAmbiguousPut,
} from "../../src/history/resolve-ambiguous-write.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { startRun } from "../../src/operations/start.ts";
import { AT } from "../support/states/states-and-events.ts";
import {
  type Fate,
  type Network,
  type Operation,
  sendOver,
  worldOverNetwork,
} from "../support/faults/lossy-network.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { recoveryRulesOf } from "../support/harness/chain-steps.ts";

/** The possible fates of the first copies of a write; the next copy is answered. */
const FATES: readonly (readonly [Fate, ...Fate[]])[] = [
  ["lost"],
  ["unanswered"],
  ["before the next"],
  ["after the next"],
  ["before the next", "lost"],
  ["lost", "unanswered"],
  ["after the next", "after the next", "lost", "unanswered"],
];

const inMemory = (): World =>
  withKernel(memoryWorld({ limits: limitsFor(3_000), clock: virtualClock(AT), random: seededRandom("certain") }));

function acting(act: () => unknown = () => "fine"): Agent {
  const model = scriptedModel({
    name: "m",
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
  });
  const tools = { act: tool({ input: z.object({}), effect: "keyed", run: act }) };
  return defineAgent({ name: "actor", version: "1", instructions: "", task: z.object({}), model, tools }) as Agent;
}

const rowOf = async (world: World, { run }: Payload): Promise<Row> => {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) throw new Error("the run is gone");
  return row;
};

/** Drives a run to its end over that network; how often its tool ran, what was sent, and what came of it. */
async function ended(operation: Operation, network: Network) {
  const world = inMemory();
  let acts = 0;
  const agent = acting(() => (acts += 1));
  const unreliable = worldOverNetwork(world, operation, network);
  const payload = await beginRun(unreliable.world, agent, {});
  const { route } = await drive(runnerOf(unreliable.world, agent), payload);
  const rules = await recoveryRulesOf(world, payload.run);
  return { route, acts, rules, sent: unreliable.sent, row: await rowOf(world, payload) };
}

describe.each(["create", "claim", "commit", "recordEndNotified", "keepKey"] as const)("any %s", (operation) => {
  test.each(FATES)("%s: the run is not affected", async (...fates) => {
    const { route, acts, rules, sent, row } = await ended(operation, { fates });
    expect({ route, acts, rules }).toEqual({ route: "done", acts: 1, rules: [] });
    expect(row).toMatchObject({ status: "completed", takeovers: 0, endNotified: true });
    const copies = sent.slice(0, fates.length + 1).map((copy) => ({ ...(copy as object), now: 0 }));
    for (const copy of copies) expect(copy).toEqual(copies[0]);
  });
});

describe("a commit", () => {
  test("of another epoch is still fenced, however often it is sent", async () => {
    const world = inMemory();
    const agent = acting();
    const payload = await beginRun(world, agent, {});
    const meanwhile = () => attemptBeat(runnerOf(world, agent), payload, 1);
    const unreliable = worldOverNetwork(world, "commit", { fates: ["lost"], meanwhile });
    const result = await attemptBeat(runnerOf(unreliable.world, agent), payload);
    expect(result).toMatchObject({ reply: { route: "superseded" } });
    expect(await rowOf(world, payload)).toMatchObject({ epoch: 2, takeovers: 1 });
  });
});

describe("a claim", () => {
  test("that lost to another claim is superseded", async () => {
    const world = inMemory();
    const payload = await beginRun(world, acting(), {});
    const meanwhile = () => attemptBeat(runnerOf(world, acting()), payload, 1);
    const unreliable = worldOverNetwork(world, "claim", { fates: ["lost"], meanwhile });
    const result = await attemptBeat(runnerOf(unreliable.world, acting()), payload);
    expect(result).toMatchObject({ reply: { route: "superseded" } });
  });

  test("that succeeds at last still reports the owner that it fenced", async () => {
    const world = inMemory();
    const payload = await beginRun(world, acting(), {});
    const { run, born } = payload;
    const entry = { execution: executionName(run, born, 1), epoch: 0, retry: 0 };
    const now = world.clock.now();
    await world.table.decide({ run, born, chain: 1, entry, owner: "dead", leaseUntil: now + 9, now }, CLAIM);
    const unreliable = worldOverNetwork(world, "claim", { fates: ["lost"] });
    await attemptBeat(runnerOf(unreliable.world, acting()), payload, 1);
    expect(await recoveryRulesOf(world, payload.run)).toEqual(["takeover"]);
  });
});

describe("a park", () => {
  /** A run that nobody owns, and a chain that says which tokens were woken. */
  async function waiting(fates: readonly Fate[]) {
    const world = inMemory();
    const agent = acting();
    const begun = await beginRun(world, agent, {});
    const payload = { ...begun, epoch: 1 };
    await attemptBeat(runnerOf(world, agent), begun);
    const woken: string[] = [];
    const wake = async (token: string) => {
      woken.push(token);
      return { kind: "woken" } as const;
    };
    const parking = (of: World, token: string, retry: number) => {
      const runner = runnerOf({ ...of, chain: { ...of.chain, wake } }, agent);
      const entry = { execution: executionName(payload.run, payload.born, 1), epoch: 1, retry };
      const invocation = { deadline: world.clock.now() + 1_000, drain: new AbortController().signal };
      return runTask(runner)({ kind: "park", payload, attempt: entry, token }, invocation);
    };
    await parking(worldOverNetwork(world, "park", { fates }).world, "mine", 0);
    return { woken, park: (await rowOf(world, payload)).park };
  }

  test.each(FATES)("%s: waits on its own token and wakes no other run", async (...fates) => {
    expect(await waiting(fates)).toMatchObject({ woken: [], park: { token: "mine" } });
  });
});

test.each(FATES)("a hand-over, %s: the successor is started, once (schedule 39)", async (...fates) => {
  const world = inMemory();
  const agent = acting();
  const payload = await beginRun(world, agent, {});
  const started: string[] = [];
  const start = async (execution: string) => {
    started.push(execution);
    return { kind: "started" } as const;
  };
  const unreliable = worldOverNetwork(world, "handOver", { fates });
  const runner = runnerOf({ ...unreliable.world, chain: { ...world.chain, start } }, agent);
  const invocation = { deadline: world.clock.now() + 1_000, drain: new AbortController().signal };
  expect(await runTask(runner)({ kind: "rescue", payload }, invocation)).toEqual({ kind: "rescue", until: null });
  expect(await rowOf(world, payload)).toMatchObject({ chain: 2, takeovers: 0 });
  expect(new Set(started)).toEqual(new Set([executionName(payload.run, payload.born, 2)]));
});

test("a start with another input under the same key is not taken for the caller's own row", async () => {
  const world = inMemory();
  const agent = { ...acting(), task: z.object({ n: z.number() }) } as unknown as Agent;
  const start = (of: World, n: number) => startRun(of, { agent, input: { n }, tenant: "local", idempotencyKey: "k" });
  const unreliable = worldOverNetwork(world, "create", { fates: ["lost"], meanwhile: () => start(world, 1) });
  expect(await start(unreliable.world, 2)).toMatchObject({ kind: "conflict" });
});

describe("without any response", () => {
  const silent = (counted: { sent: number }) => async () => {
    counted.sent += 1;
    return { kind: "ambiguous", why: "HTTP 503" } as const;
  };

  test.each([
    ["a write", (send: () => Promise<never>) => resolveAmbiguousWrite(send, () => null)],
    ["a put", (send: () => Promise<never>) => resolveAmbiguousPut(send)],
  ])("%s is given up after a bounded number of copies, and nothing is concluded", async (_, resolved) => {
    const counted = { sent: 0 };
    const given = await resolved(silent(counted) as () => Promise<never>).catch((error: unknown) => error);
    expect(given).toBeInstanceOf(WriteUnresolved);
    expect(given).toBeInstanceOf(StoreUnreachable);
    expect(given).toMatchObject({ name: "Undecided", message: expect.stringContaining("HTTP 503") });
    expect(counted.sent).toBe(SIZES.rewritesMax + 1);
  });
});

test("a first copy that is refused is refused, because no copy can have been applied before", async () => {
  const refused = { kind: "fenced", row: { owner: "me" } as Row };
  const mine = () => ({ kind: "committed", row: refused.row });
  expect(await resolveAmbiguousWrite(async () => refused, mine)).toBe(refused);
});

describe("an object", () => {
  test.each(FATES)("%s: is stored once, and the run continues", async (...fates) => {
    const world = inMemory();
    const agent = acting();
    const payload = await beginRun(world, agent, {});
    const { send } = sendOver({ fates }, ([key, bytes]: readonly [string, Uint8Array]) =>
      world.objects.put(key, bytes),
    );
    const objects = { ...world.objects, put: (key: string, bytes: Uint8Array) => send([key, bytes]) };
    expect(await drive(runnerOf({ ...world, objects } as World, agent), payload)).toMatchObject({ route: "done" });
  });

  test.each([
    ["other bytes", new Uint8Array([1])],
    ["nothing that can be read", null],
  ])("of a snapshot with %s under its key stops the invocation before the row names it", async (_, found) => {
    const world = inMemory();
    const payload = await beginRun(world, acting(), {});
    let key = "";
    const put = async (named: string) => {
      key = named;
      return { kind: "exists" } as const;
    };
    const get = async (named: string) => (named === key ? found : world.objects.get(named));
    const records: TelemetryRecord[] = [];
    const telemetry = { record: (each: TelemetryRecord) => void records.push(each) };
    const runner = runnerOf({ ...world, objects: { ...world.objects, put, get }, telemetry }, acting());
    expect(await attemptBeat(runner, payload)).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
    expect(records).toContainEqual(expect.objectContaining({ level: "alarm", what: "Unreadable" }));
    expect(await rowOf(world, payload)).toMatchObject({ snapshot: { version: 0 } });
  });
});
