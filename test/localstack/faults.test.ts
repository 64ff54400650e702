/**
 * Each request of a run meets each fault at the level of HTTP, and no effect is lost or doubled. What the faults
 * of the simulation are to the ports, these are to the adapters and the AWS SDK below them.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { awsClients } from "../../src/adapters/aws/clients.ts";
import { withKernel } from "../../src/features/compose.ts";
import { awsWorld } from "../../src/adapters/aws/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import type { Row } from "../../src/protocol/row.ts";
import { PURGE } from "../../src/protocol/row-removal.ts";
import type { World } from "../../src/ports/world.ts";
import { resolveAmbiguousWrite } from "../../src/history/resolve-ambiguous-write.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { handOver } from "../../src/engine/context/executions.ts";
import { deliver } from "../../src/engine/context/inbox.ts";
import { timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { attemptBeat, runnerOf } from "../support/harness/drive.ts";
import { type Deployment, deploy, undeploy } from "./deployment.ts";
import { FAULTS, FaultProxy } from "./proxy.ts";
import { again, caller, driven, started } from "../support/aws/scene.ts";

const BOUNDS = limitsFor(LIMITS.longBeatMs);

let deployment: Deployment;
let proxy: FaultProxy;
/** The world whose requests go through the proxy. */
let world: World;
let runs = 0;

beforeAll(async () => {
  deployment = await deploy();
  proxy = await new FaultProxy(process.env["AWS_ENDPOINT_URL"] ?? "").open();
  world = worldOf(awsClients({ endpoint: proxy.endpoint, requestMs: LIMITS.requestMs }));
});
afterAll(async () => {
  await proxy.close();
  await undeploy(deployment);
});

const worldOf = (clients: Deployment["clients"]): World =>
  withKernel(awsWorld({ ...deployment, clients, limits: BOUNDS, telemetry: { record: () => undefined } }));

const fresh = () => {
  runs += 1;
  return { tenant: `f${deployment.round}`, key: `run ${runs}` };
};

/** A run from start to end: its calls, and its stored data. */
async function play() {
  const keys: string[] = [];
  const agent = caller(1, (key) => keys.push(key));
  const payload = await started(world, { agent, ...fresh() });
  const route = await driven(runnerOf(world, agent), payload);
  await proxy.calm();
  const row = (await world.table.read(payload.run, Date.now())) as Row;
  const verified = await verify(world, { run: payload.run });
  const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
  return { keys, route, row, findings: verified?.findings, events: events.map(({ kind }) => kind) };
}

describe("a run is unaffected when each of its requests meets", () => {
  test.each(FAULTS)("%s", async (fault) => {
    proxy.meet(fault, () => false);
    const clean = await play();
    const requests = [...proxy.seen];
    expect(clean).toMatchObject(WELL);
    for (const [at, name] of requests.entries()) {
      // Concurrent reads do not conflict.
      if (fault === "conflict" && READ.test(name)) continue;
      proxy.meet(fault, (_, index) => index === at);
      const played = await play();
      const where = `request ${at}, ${name}`;
      expect(played, where).toMatchObject(WELL);
      expect(new Set(played.keys).size, where).toBe(1);
      if (fault === "denied") {
        // Its invocation ends; the next one calls the model or the tool again with the same key.
        expect(kindsOf(played.events), where).toEqual(expect.arrayContaining([...kindsOf(clean.events)]));
        expect(count(played.events, "ToolResultRecorded"), where).toBe(1);
      } else {
        expect({ events: played.events, keys: played.keys.length }, where).toEqual({ events: clean.events, keys: 1 });
        expect({ version: played.row.version, epoch: played.row.epoch }, where).toEqual({
          version: clean.row.version,
          epoch: clean.row.epoch,
        });
      }
    }
  });
});

test("planted: if the SDK retried a write itself, a claim would be refused because of its own first copy", async () => {
  const clients = awsClients({ endpoint: proxy.endpoint, requestMs: LIMITS.requestMs });
  const { repeating } = clients.table;
  const planted = worldOf({ ...clients, table: { once: repeating, repeating } });
  const agent = caller(1);
  const payload = await started(planted, { agent, ...fresh() });
  proxy.meet("answer lost", (name) => name === "UpdateItem");
  expect(await driven(runnerOf(planted, agent), payload)).toBe("superseded");
  expect(await world.table.read(payload.run, Date.now())).toMatchObject({ status: "running", version: 0 });
});

const WELL = { route: "done", findings: [], row: { status: "completed", endNotified: true } };
const READ = /^(Get|BatchGet|Query|Describe|GET)/;

const kindsOf = (events: readonly string[]): readonly string[] => [...new Set(events)];
const count = (events: readonly string[], kind: string): number => events.filter((each) => each === kind).length;

interface Operation {
  readonly name: string;
  /** The request that meets the fault. */
  readonly meets: string;
  /** Drives the run to the point before the operation. */
  readonly before?: (payload: Payload) => Promise<unknown>;
  readonly act: (payload: Payload) => Promise<unknown>;
  readonly holds: (row: Row | null, payload: Payload) => Promise<void> | void;
}

const MESSAGE = { id: "m", sentAt: 1, body: { kind: "user", text: "hello", by: "anna" } } as const;

const of = ({ run, born }: Payload) => ({ run, born, now: Date.now() });

const firstBeat = (payload: Payload) => attemptBeat(runnerOf(world, caller(1)), payload);
const toTheEnd = (payload: Payload) => driven(runnerOf(world, caller(0)), payload);

const OPERATIONS: readonly Operation[] = [
  {
    name: "a message is counted once",
    meets: "TransactWriteItems",
    act: async (payload) =>
      expect(["delivered", "duplicate"]).toContain(await deliver(world, { ...payload, message: MESSAGE })),
    holds: async (row, payload) => {
      expect(row?.wakeCount).toBe(1);
      expect(await world.inbox.unread({ ...of(payload), limit: 9 })).toEqual([MESSAGE]);
    },
  },
  {
    name: "a cancel is requested",
    meets: "UpdateItem",
    act: async ({ run }) => expect(await sendRequest(world, { run, want: "cancel" })).toBe("requested"),
    holds: (row) => {
      expect(row).toMatchObject({ cancel: true, pause: false });
      // Sending it again raises the wake counter again, which does no harm.
      expect([1, 2]).toContain(row?.wakeCount);
    },
  },
  {
    name: "a token is stored",
    meets: "UpdateItem",
    before: firstBeat,
    act: async (payload) => {
      const { epoch } = (await world.table.read(payload.run, Date.now())) as Row;
      const task = { kind: "park", payload: { ...payload, epoch }, token: "no one's token" } as const;
      const entry = { execution: `${payload.run}-${payload.born}-1`, epoch, retry: 0 };
      const invocation = { deadline: Date.now() + BOUNDS.beatMs, drain: new AbortController().signal };
      await runTask(runnerOf(world, caller(1)))({ ...task, attempt: entry }, invocation);
    },
    holds: (row) => expect(row).toMatchObject({ park: { token: "no one's token" }, version: 2, owner: null }),
  },
  {
    name: "a run is handed over once",
    meets: "UpdateItem",
    before: firstBeat,
    act: async ({ run, born }) => {
      const outcome = await handOver(world, { run, born, chain: 1 });
      expect(outcome).toMatchObject({ kind: expect.stringMatching(/^(handed|lost)$/), row: { chain: 2 } });
    },
    holds: (row) => expect(row).toMatchObject({ chain: 2, epoch: 2, takeovers: 0, deaths: 0, owner: null }),
  },
  {
    name: "a mutex lease is taken by one process",
    meets: "PutItem",
    act: async ({ run }) => {
      const turn = { name: run, owner: "one", until: Date.now() + LIMITS.sceneMs, cursor: null, now: Date.now() };
      const taken = await resolveAmbiguousWrite(
        () => world.leases.take(turn),
        () => null,
      );
      expect(taken).toEqual({ kind: "taken", cursor: null });
    },
    holds: async (_, { run }) => {
      const turn = { name: run, owner: "other", until: Date.now() + 1, cursor: null, now: Date.now() };
      expect(await world.leases.take(turn)).toMatchObject({ kind: "held" });
    },
  },
  {
    name: "the key of a run is kept",
    meets: "PutItem",
    act: async ({ run, born }) => {
      const end = { status: "completed", endedAt: Date.now(), epoch: 1, expiresAtSec: 9_999_999_999 } as const;
      const tombstone = { run, born, agent: "caller", inputDigest: "digest", ...end };
      expect(
        await resolveAmbiguousWrite(
          () => world.table.keepKey(tombstone),
          () => null,
        ),
      ).toEqual({ kind: "kept" });
    },
    holds: async (_, { run, born }) => {
      expect(await world.table.readKey(run, Date.now())).toMatchObject({ run, born, status: "completed" });
    },
  },
  {
    name: "an ended run is removed, and its removal is announced",
    meets: "DeleteItem",
    before: toTheEnd,
    act: async (payload) => {
      const outcome = await resolveAmbiguousWrite(
        () => world.table.decide(of(payload), PURGE),
        () => null,
      );
      expect(outcome.kind).toMatch(/^(purged|missing)$/);
    },
    holds: async (row, { run, born }) => {
      expect(row).toBeNull();
      expect(await deployment.stream.removedOf(run)).toEqual([born]);
    },
  },
];

describe.each(OPERATIONS)("$name", ({ meets, before, act, holds }) => {
  test.each(FAULTS)("%s", async (fault) => {
    const payload = await started(world, { agent: caller(1), ...fresh() });
    await before?.(payload);
    proxy.meet(fault, (name) => name === meets);
    await again(() => act(payload));
    expect(proxy.met).toBe(1);
    await proxy.calm();
    await holds(await world.table.read(payload.run, Date.now()), payload);
  });
});

describe("a new run replaces an expired one of the same ID when a request meets", () => {
  const meetings = FAULTS.flatMap((fault) => [
    { fault, meets: "DeleteItem" },
    { fault, meets: "TransactWriteItems" },
  ]);
  test.each(meetings)("$fault at $meets", async ({ fault, meets }) => {
    const agent = caller(0);
    const name = fresh();
    const payload = await started(world, { agent, ...name });
    await driven(runnerOf(world, agent), payload);
    const now = ((await world.table.read(payload.run, Date.now()))?.expiresAtSec ?? 0) * 1_000;
    await world.table.forgetKey(payload);
    proxy.meet(fault, (sendRequest) => sendRequest === meets);
    const later = { ...world, clock: { ...world.clock, now: () => now, earliest: () => now } };
    const next = await started(later, { agent, ...name });
    await proxy.calm();
    expect(proxy.met).toBe(1);
    expect({ run: next.run, hasSameBirth: next.born === payload.born }).toEqual({
      run: payload.run,
      hasSameBirth: false,
    });
    expect(await world.table.read(next.run, now)).toMatchObject({ born: next.born, status: "queued", version: 0 });
    expect(await deployment.stream.removedOf(next.run)).toEqual([payload.born]);
  });
});
