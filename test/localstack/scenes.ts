/**
 * The work of each function, in scenes that reach every call that it can make: success, processes that died in
 * between, used names, expired runs, and many messages.
 */
import { DeleteItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { ATTRIBUTES } from "../../src/adapters/aws/table/attributes.ts";
import { createApi } from "../../src/api/app.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import type { Incarnation, Row } from "../../src/protocol/row.ts";
import { cleanUp } from "../../src/history/clean-up.ts";
import { fireInTime } from "../../src/features/schedules/fire.ts";
import { collectAllOrphans } from "../../src/maintenance/orphans.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import { park, renew } from "../../src/engine/loop/park.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { startRun } from "../../src/operations/start.ts";
import { show } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { rescue, sweep } from "../../src/maintenance/sweep.ts";
import { OVER, boss, worker } from "../support/agents/workers.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { FINAL_REPLY, scriptedAgent } from "../support/harness/harness.ts";
import { dying, until } from "./lane.ts";
import type { Listened } from "./listened.ts";
import { tokenOf } from "./worlds.ts";

/** The identity of the HTTP caller. */
const TENANT = "scenes";
const HOUR_MS = 3_600_000;

/** An agent that ends at once. */
const talker = scriptedAgent({ reply: () => FINAL_REPLY });
const archived = { retention: { hotMs: null, archive: "warm" } } as const;
/** Has a result too large for a row, so that it becomes an object of its parent. Its runs are archived. */
const writer = { ...scriptedAgent({ reply: () => ({ text: "long ".repeat(SIZES.stateValueBytesMax) }) }), ...archived };
/** An agent that waits for an approval. */
const asker = scriptedAgent({ approval: "always" });

export async function playAll(on: Listened): Promise<void> {
  await starts(on, (key) => started(on.worldOf("start"), { agent: talker, key }));
  await started(on.worldOf("start", { losesPut: true }), { agent: talker, key: "lost" });
  await fires(on);
  await starts(on, (key) => posted(on, key));
  await speaks(on);
  await hearsAndTells(on);
  await dispatches(on);
  await parksLate(on);
  await meetsWork(on);
  await sweeps(on);
  await cleansUp(on);
}

interface Wanted {
  readonly agent: Agent;
  readonly key: string;
  readonly parent?: Incarnation;
}

async function started(world: World, { agent, key: idempotencyKey, ...rest }: Wanted): Promise<Row> {
  const begun = await startRun(world, { agent, input: {}, tenant: TENANT, idempotencyKey, ...rest });
  if (!("row" in begun)) throw new Error(`it was not started: ${begun.kind}`);
  return begun.row;
}

const payloadOf = ({ run, born, chain, epoch, agent }: Row): Payload => ({ run, born, chain, epoch, agent });

const nameOf = ({ run, born }: Row): string => executionName(run, born, 1);

async function now({ aside }: Listened, { run }: Incarnation): Promise<Row> {
  const row = await aside.table.read(run, 0);
  if (row === null) throw new Error(`run ${run} is gone`);
  return row;
}

/** Drives beat after beat until the run waits or ends; returns its row. */
async function driven(on: Listened, row: Row, agent: Agent): Promise<Row> {
  await drive(runnerOf(on.worldOf("beat"), agent), payloadOf(await now(on, row)));
  return now(on, row);
}

/** A parked run with a dead token, which only a wake-up detects. */
async function parkedBy(on: Listened, row: Row): Promise<Row> {
  const payload = payloadOf(await now(on, row));
  const attempt = { execution: nameOf(row), epoch: payload.epoch, retry: 0 };
  await park(on.worldOf("park"), { payload, attempt, token: `token of ${row.run}` });
  return now(on, row);
}

/** A run that waits for an approval. */
async function asleep(on: Listened, key: string): Promise<Row> {
  const row = await started(dying(on.aside), { agent: asker, key });
  return parkedBy(on, await driven(on, row, asker));
}

/** Delivers a message from a process that dies before it wakes the run. */
async function said({ aside }: Listened, { run }: Row, id: string): Promise<void> {
  await send(dying(aside), { run, text: "hello", by: "a test", id });
}

/** Changes a row past the port, to simulate passed time or many events. */
async function change(
  { deployment }: Listened,
  { run }: Row,
  [name, value]: readonly ["deaths" | "expiresAtSec", number],
): Promise<void> {
  await deployment.clients.table.repeating.send(
    new UpdateItemCommand({
      ...{ TableName: deployment.table, Key: { run: { S: run }, item: { S: "row" } } },
      UpdateExpression: "SET #name = :value",
      ExpressionAttributeNames: { "#name": ATTRIBUTES[name] },
      ExpressionAttributeValues: { ":value": { N: String(value) } },
    }),
  );
}

/** A live run whose execution has ended, so that its name is used. */
async function spend({ deployment, aside }: Listened, row: Row): Promise<void> {
  await aside.chain.wake(await tokenOf(deployment, nameOf(row)));
  const again = () => aside.chain.start(nameOf(row), payloadOf(row));
  await until(async () => expect(await again()).toEqual({ kind: "exists", running: false }));
}

/** Starting runs: new ones, with a used name, and over an expired row. */
async function starts(on: Listened, start: (key: string) => Promise<Row>): Promise<void> {
  const row = await start("again");
  await spend(on, row);
  expect((await start("again")).run).toBe(row.run);
  expect(await now(on, row)).toMatchObject({ chain: 2 });
  await driven(on, row, talker);
  await on.aside.table.forgetKey({ run: row.run, born: row.born });
  await change(on, row, ["expiresAtSec", 1]);
  expect((await start("again")).born).not.toBe(row.born);
}

async function fires(on: Listened): Promise<void> {
  const schedule = { every: "rate(1 day)", timezone: "UTC", input: {}, overlap: "skip", missed: "latest" } as const;
  const world = on.worldOf("start");
  const agent = { ...talker, schedule };
  const firing = { agent, tenant: TENANT, at: world.clock.now(), watched: true, startRun };
  expect(await fireInTime(world, timeOf(world), firing)).toMatchObject({ outcome: { kind: "started" } });
}

const apiOf = (on: Listened) =>
  createApi<object>({
    ...{ world: on.worldOf("api"), agentOf: async () => talker, baseOf: () => "" },
    callerOf: () => ({ tenant: TENANT, actor: "a test", scopes: SCOPES }),
  });

async function asked(on: Listened, path: string, body?: object): Promise<{ readonly run?: string }> {
  const headers = { "content-type": "application/json", "idempotency-key": "over http" };
  const post = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await apiOf(on).request(path, body === undefined ? {} : post, {});
  expect(answer.status).toBeLessThan(300);
  return (await answer.json()) as { readonly run?: string };
}

async function posted(on: Listened, key: string): Promise<Row> {
  const { run = "" } = await asked(on, "/runs", { agent: "talker", input: {} });
  expect(key).toBe("again");
  return now(on, { run, born: "" });
}

async function speaks(on: Listened): Promise<void> {
  const row = await asleep(on, "spoken to");
  await asked(on, `/runs/${row.run}`);
  await asked(on, `/runs/${row.run}/messages`, { text: "hello" });
  await asked(on, "/runs?status=waiting");
  await asked(on, "/health");
}

/** A beat that absorbs and removes messages, and one that ends a run for which a parent waits. */
async function hearsAndTells(on: Listened): Promise<void> {
  const parent = await asleep(on, "parent");
  await said(on, parent, "one");
  await driven(on, parent, asker);
  await said(on, parent, "two");
  await parkedBy(on, await driven(on, parent, asker));
  const { run, born } = parent;
  const child = await started(dying(on.aside), { agent: writer, key: "child", parent: { run, born } });
  expect(await driven(on, child, writer)).toMatchObject({ phase: "Completed", endNotified: true });
}

/** A beat that makes children, one of which works without a parent, and asks the other to stop once it is cancelled. */
async function dispatches(on: Listened): Promise<void> {
  const reply = ({ calls }: { readonly calls: readonly unknown[] }) =>
    calls.length > 0 ? OVER : { calls: ["ask", "leave"].map((tool) => ({ tool, args: { part: 1 } })) };
  const alone = boss({ child: { wait: false } }).tools["ask"];
  const leader = boss({ reply });
  const agents: readonly Agent[] = [
    { ...leader, tools: { ...leader.tools, ...(alone && { leave: alone }) } },
    worker(),
  ];
  const row = await started(dying(on.aside), { agent: leader, key: "boss" });
  const runner = runnerOf(on.worldOf("beat"), agents);
  await drive(runner, payloadOf(row));
  expect(await now(on, row)).toMatchObject({ phase: "AwaitingChildren", park: null });
  await sendRequest(on.aside, { run: row.run, want: "cancel" });
  await drive(runner, payloadOf(await now(on, row)));
  const children = (await show(on.aside, row.run))?.children;
  expect(children).toMatchObject([{ agent: "worker" }]);
  // A process that dies before it commits that the child was started leaves its start to the next one.
  const child = await now(on, { run: children?.[0]?.run ?? "", born: "" });
  await on.aside.chain.wake(await tokenOf(on.deployment, nameOf(child)));
  const again = () => on.worldOf("beat").chain.start(nameOf(child), payloadOf(child));
  await until(async () => expect(await again()).toEqual({ kind: "exists", running: false }));
}

/** A message arrived before the token was stored. */
async function parksLate(on: Listened): Promise<void> {
  const row = await driven(on, await started(dying(on.aside), { agent: asker, key: "late" }), asker);
  await said(on, row, "early");
  expect(await parkedBy(on, row)).toMatchObject({ park: null });
}

/**
 * A start that is sent again, and a park that comes late, while a beat is at work: the row names entries of its journal.
 */
async function meetsWork(on: Listened): Promise<void> {
  const [reached, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const agent = scriptedAgent({
    reply: ({ calls }) => (calls.length > 0 ? FINAL_REPLY : { text: LONG, calls: [{ tool: "act", args: {} }] }),
    run: () => {
      reached.resolve();
      return ended.promise;
    },
  });
  const row = await started(dying(on.aside), { agent, key: "at work" });
  const working = driven(on, row, agent);
  await reached.promise;
  expect((await started(on.worldOf("start"), { agent, key: "at work" })).journal).not.toBeNull();
  const attempt = { execution: nameOf(row), epoch: row.epoch, retry: 0 };
  await park(on.worldOf("park"), { payload: payloadOf(row), attempt, token: "a late token" });
  ended.resolve("done");
  expect(await working).toMatchObject({ phase: "Completed" });
}

/** About 3 KB, also compressed: too long for the row, and short enough for an entry. */
const LONG = Array.from({ length: 700 }, (_, index) => ((index * 2_654_435_761) % 2 ** 32).toString(36)).join(" ");

async function sweeps(on: Listened): Promise<void> {
  const renewed = await started(dying(on.aside), { agent: talker, key: "renewed" });
  await renew(on.worldOf("sweep"), payloadOf(renewed));
  const rescued = await started(on.aside, { agent: talker, key: "rescued" });
  const world = on.worldOf("sweep", { laterMs: HOUR_MS });
  await rescue(world, { payload: payloadOf(rescued) }, timeOf(world));
  await started(dying(on.aside), { agent: talker, key: "queued" });
  const spent = await started(on.aside, { agent: talker, key: "spent" });
  await spend(on, spent);
  await said(on, await asleep(on, "woken"), "hello");
  const doomed = await doom(on);
  await sweep(world, timeOf(world));
  // The second one within the hour reads only what is due.
  await sweep(world, timeOf(world));
  expect(await now(on, spent)).toMatchObject({ chain: 2 });
  expect(await now(on, doomed)).toMatchObject({ phase: "Failed", endNotified: true });
  await on.aside.objects.put(ORPHAN, Buffer.from("x"));
  const nextDay = on.worldOf("sweep", { laterMs: TIMES.orphanAgeMs + HOUR_MS });
  await collectAllOrphans(nextDay, timeOf(nextDay));
  expect(await on.aside.objects.get(ORPHAN)).toBeNull();
}

const ORPHAN = `runs/${TENANT}/${TENANT}-${"a".repeat(26)}/orphan2345/blobs/x`;

const timeOf = (world: World) => ({
  deadline: world.clock.now() + world.limits.beatMs,
  drain: new AbortController().signal,
});

/** A child run whose processes died too often, with more messages than one commit absorbs. */
async function doom(on: Listened): Promise<Row> {
  const { run, born } = await asleep(on, "bereaved");
  const row = await started(dying(on.aside), {
    agent: { ...asker, ...archived },
    key: "doomed",
    parent: { run, born },
  });
  const waiting = await driven(on, row, asker);
  for (let message = 0; message <= SIZES.absorbMax; message += 1) await said(on, waiting, String(message));
  await change(on, waiting, ["deaths", 1_000]);
  return waiting;
}

/** The clean-up of data of removed rows. */
async function cleansUp(on: Listened): Promise<void> {
  const row = await asleep(on, "removed");
  await said(on, row, "hello");
  const { clients, table } = on.deployment;
  const Key = { run: { S: row.run }, item: { S: "row" } };
  await clients.table.repeating.send(new DeleteItemCommand({ TableName: table, Key }));
  await cleanUp(on.worldOf("cleanup"), row);
}
