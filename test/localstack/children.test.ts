/** Child runs on real executions, a real table and real objects: worked, killed, and cancelled. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { timeline } from "../../src/operations/views.ts";
import type { Row } from "../../src/protocol/row.ts";
import { team } from "./fixtures/team.ts";
import {
  callsOf,
  ended,
  keysOf,
  laneOf,
  markOf,
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

type How = "work" | "die" | "hold" | "ask";

/** Starts a boss with one worker for each of these parts. `isKilled`: its process dies while they are out. */
async function begun(of: { readonly name: string; readonly parts: readonly How[]; readonly isKilled?: true }) {
  const label = `${of.name}-${Date.now()}`;
  const parts = of.parts.map((how, part) => ({ part, how, team: label }));
  const input = { parts, dies: of.isKilled === true ? label : null };
  return { label, row: await started(lane, { agent: team as Agent, input }) };
}

/** The rows of the workers, in the order in which the boss dispatched them. */
async function workersOf(run: string): Promise<readonly Row[]> {
  const events = (await timeline(lane.world, { run, after: 0 })) ?? [];
  const children = events.flatMap((event) => (event.kind === "ChildDispatched" ? [event.child] : []));
  return Promise.all(children.map((child) => rowOf(lane, child)));
}

/** Each worker has ended, and the boss accounts for all that was spent. */
async function mustAddUp(boss: string, count: number): Promise<readonly Row[]> {
  const workers = await workersOf(boss);
  expect(workers).toHaveLength(count);
  for (const worker of workers) {
    expect(worker).toMatchObject({ agent: "teamWorker", parent: { run: boss } });
    await until(async () => expect(await rowOf(lane, worker.run)).toMatchObject({ endNotified: true }));
    await until(async () => expect(await statusOf(lane, nameOf(worker, 1))).toBe("SUCCEEDED"));
  }
  const { spent } = await rowOf(lane, boss);
  const own = (await timeline(lane.world, { run: boss, after: 0 })) ?? [];
  const beats = own.flatMap((event) =>
    event.kind === "BudgetDebited" && event.child === undefined ? [event.debit.beats ?? 0] : [],
  );
  expect(spent.beats).toBe([...beats, ...workers.map((each) => each.spent.beats)].reduce((sum, each) => sum + each, 0));
  expect((await verify(lane.world, { run: boss }))?.findings).toEqual([]);
  return workersOf(boss);
}

const memos = (count: number) => Array.from({ length: count }, (_, part) => ({ memo: `part ${part}` }));

test("a boss waits for its workers without a process, and a worker whose process is killed works on", async () => {
  const { row } = await begun({ name: "three", parts: ["work", "die", "work"] });
  const { status, result } = await ended(lane, row.run);
  expect(status).toBe("completed");
  expect(result).toHaveLength(3);
  expect(result).toEqual(expect.arrayContaining(memos(3)));
  const workers = await mustAddUp(row.run, 3);
  expect(workers.map((worker) => ({ status: worker.status, takeovers: worker.takeovers }))).toEqual([
    { status: "completed", takeovers: 0 },
    { status: "completed", takeovers: 1 },
    { status: "completed", takeovers: 0 },
  ]);
  const keys = (await Promise.all(workers.map(({ run }) => keysOf(lane, run)))).flat();
  expect(keys.map(callsOf)).toEqual([1, 2, 1]);
  expect(await statesOf(lane, nameOf(row, 1))).toContain("Park");
});

test("a boss whose process is killed with eight workers out dispatches none of them again", async () => {
  const { row, label } = await begun({ name: "eight", parts: Array.from({ length: 8 }, () => "hold"), isKilled: true });
  // No worker goes on before the next process of the boss lets it.
  await until(() => expect(existsSync(markOf(`${label}-died`))).toBe(true));
  const { status, result } = await ended(lane, row.run);
  expect(status).toBe("completed");
  expect(result).toHaveLength(8);
  expect(result).toEqual(expect.arrayContaining(memos(8)));
  expect(await rowOf(lane, row.run)).toMatchObject({ takeovers: 1 });
  const workers = await mustAddUp(row.run, 8);
  expect(new Set(workers.map(({ run }) => run)).size).toBe(8);
  expect(workers.map((worker) => worker.status)).toEqual(workers.map(() => "completed"));
});

test("a cancel of a boss reaches its workers, and its own end comes last", async () => {
  const { row } = await begun({ name: "stopped", parts: ["ask", "ask"] });
  const waiting = await parked(lane, row.run);
  expect(waiting).toMatchObject({ phase: "AwaitingChildren", owner: null });
  const workers = await workersOf(row.run);
  for (const { run } of workers) await parked(lane, run);
  expect(await sendRequest(lane.world, { run: row.run, want: "cancel" })).toBe("requested");
  expect(await ended(lane, row.run)).toMatchObject({ status: "cancelled", children: [] });
  // The end of the boss waited for both.
  for (const { run } of workers) expect(await shown(lane, run)).toMatchObject({ status: "cancelled" });
  await mustAddUp(row.run, 2);
});
