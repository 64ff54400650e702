/** Runs that wait on a task token: woken by a message, a request or a timeout, also after a lost response. */
import { describe, expect, test } from "vitest";
import { decide } from "../../src/operations/decide.ts";
import { startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { clerk } from "./fixtures/clerk.ts";
import {
  type Lane,
  callsOf,
  dying,
  ended,
  failuresIn,
  historyOf,
  keysOf,
  laneOf,
  leaveMark,
  nameOf,
  parked,
  rowOf,
  shown,
  started,
  statesOf,
  statusOf,
  until,
} from "./lane.ts";

const lane = laneOf("lane");
const impatient = laneOf("impatient");
const ASK = { steps: [{ do: "ask", wrong: 0 }] };

async function decided(of: Lane, run: string, as: "approve" | "deny"): Promise<void> {
  const [gate] = (await shown(of, run)).gates;
  const decision = { run, gate: gate?.gate ?? "", as, args: null, by: "a test", note: null };
  expect(await decide(of.world, decision)).toMatchObject({ kind: "accepted" });
}

const typesOf = async (of: Lane, execution: string): Promise<readonly string[]> =>
  (await historyOf(of, execution)).map(({ type }) => type ?? "");

describe.concurrent("a run that waits for approval", () => {
  test("makes no request until a message answers its token, and then continues at once", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    const waiting = await parked(lane, row.run);
    expect(waiting).toMatchObject({ status: "waiting", owner: null });
    expect(await statusOf(lane, nameOf(row, 1))).toBe("RUNNING");
    expect(await keysOf(lane, row.run)).toHaveLength(1);
    await decided(lane, row.run, "approve");
    await ended(lane, row.run);
    expect((await keysOf(lane, row.run)).map(callsOf)).toEqual([1]);
    await until(async () => expect(await statusOf(lane, nameOf(row, 1))).toBe("SUCCEEDED"));
    const rounds = ["Beat", "ReadPark", "Park", "Beat", "Beat", "End"];
    expect(await statesOf(lane, nameOf(row, 1))).toEqual(rounds);
  });

  test("wakes when it is cancelled and starts no call", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    await parked(lane, row.run);
    expect(await sendRequest(lane.world, { run: row.run, want: "cancel" })).toBe("requested");
    expect(await ended(lane, row.run)).toMatchObject({ status: "cancelled" });
    await until(async () => expect(await statusOf(lane, nameOf(row, 1))).toBe("SUCCEEDED"));
    expect(await statesOf(lane, nameOf(row, 1))).toEqual(["Beat", "ReadPark", "Park", "Beat", "End"]);
  });

  test("still waits after it is paused and resumed", async () => {
    const row = await started(lane, { agent: clerk, input: ASK });
    const first = await parked(lane, row.run);
    await sendRequest(lane.world, { run: row.run, want: "pause" });
    await until(async () => expect(await rowOf(lane, row.run)).toMatchObject({ status: "paused", owner: null }));
    const second = await parked(lane, row.run);
    expect(second.park?.token).not.toBe(first.park?.token);
    await sendRequest(lane.world, { run: row.run, want: "resume" });
    await until(async () => expect(await rowOf(lane, row.run)).toMatchObject({ status: "waiting", owner: null }));
    await parked(lane, row.run);
    await decided(lane, row.run, "deny");
    expect(await ended(lane, row.run)).toMatchObject({ status: "completed" });
  });

  test("is woken by a message when its park was retried after a lost response", async () => {
    const row = await started(lane, { agent: clerk, input: ASK, key: `lost-${Date.now()}` });
    leaveMark(`park-${row.run}`);
    const name = nameOf(row, 1);
    await until(async () => expect(await failuresIn(lane, name)).toEqual(["Runtime.ExitError"]));
    // The retry created a new token and stored it in place of the dead one.
    await until(async () => expect((await rowOf(lane, row.run)).park?.entry).toMatchObject({ retry: 1 }));
    await decided(lane, row.run, "approve");
    await ended(lane, row.run);
    expect((await keysOf(lane, row.run)).map(callsOf)).toEqual([1]);
    await until(async () => expect(await statusOf(lane, name)).toBe("SUCCEEDED"));
    expect((await statesOf(lane, name)).filter((state) => state === "Park")).toHaveLength(1);
  });
});

test("a run whose token expires continues with exactly one beat, which warns of its end, and then ends", async () => {
  const agent = { agent: clerk, input: ASK, key: `paused-${Date.now()}` };
  const row = await started({ world: dying(impatient.world) }, agent);
  await sendRequest(impatient.world, { run: row.run, want: "pause" });
  await startRun(impatient.world, { ...agent, tenant: row.tenant, idempotencyKey: agent.key });
  expect(await parked(impatient, row.run)).toMatchObject({ status: "paused" });
  expect(await ended(impatient, row.run)).toMatchObject({ status: "failed", failure: { code: "Expired" } });
  const name = nameOf(row, 1);
  await until(async () => expect(await statusOf(impatient, name)).toBe("SUCCEEDED"));
  expect((await typesOf(impatient, name)).filter((type) => type === "TaskTimedOut")).toHaveLength(2);
  const waits = ["Beat", "ReadPark", "Park"];
  expect(await statesOf(impatient, name)).toEqual([...waits, ...waits, "Beat", "End"]);
});

test("a run with more claims than one execution may have moves to the next execution, again and again", async () => {
  const steps = Array.from({ length: 7 }, () => ({ do: "order", wrong: 0 }));
  const row = await started(impatient, { agent: clerk, input: { steps } });
  await ended(impatient, row.run);
  expect((await keysOf(impatient, row.run)).map(callsOf)).toEqual(steps.map(() => 1));
  const { chain } = await rowOf(impatient, row.run);
  expect(chain).toBe(3);
  for (const each of [1, 2]) {
    const name = nameOf(row, each);
    await until(async () => expect(await statusOf(impatient, name)).toBe("SUCCEEDED"));
    expect(await statesOf(impatient, name)).toEqual(["Beat", "Beat", "Beat", "ReadRenew", "Renew", "End"]);
  }
});
