import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { createEffectTables, sqliteDatabase } from "../../src/effects/index.ts";
import { tool } from "../../src/index.ts";
import { everyFaultPoint, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { booksOf, openBank, transferInput, transferTool } from "../support/services/bank.ts";
import { duplicatesIn, serviceView } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

const TWO = [
  { to: "ada", cents: 100 },
  { to: "ada", cents: 250 },
];
const THREE = [...TWO, { to: "ada", cents: 999 }];

async function bank() {
  const connection = new DatabaseSync(":memory:");
  onTestFinished(() => connection.close());
  const database = sqliteDatabase(connection);
  await openBank(database);
  const reset = (): void => {
    for (const table of ["bookings", "cairn_effects", "cairn_epochs"]) connection.exec(`DELETE FROM ${table}`);
    connection.exec("UPDATE accounts SET cents = 0");
  };
  const service = serviceView({ name: "bank", effects: () => booksOf(connection).effects, reset });
  return { connection, database, options: { input: {}, services: [service] } };
}

const key = (letter: string, epoch = 1) =>
  callContext({ input: { to: "ada", cents: 100 }, key: `act-${letter}`, epoch, of: { key: "act-a", result: null } });

test("a transfer is committed once, with a kill at each fault point", async () => {
  const { connection, database, options } = await bank();
  const agent = callingAgent({ act: transferTool(database), args: TWO });
  const { points, uninterrupted } = await everyFaultPoint(agent, options);
  expect(points).toContain("after:effect:act#2");
  expect(uninterrupted.effects).toHaveLength(2);
  for (const point of points) {
    const run = await killAt(agent, point, options);
    expectEffectsOnce(run);
    expect(duplicatesIn(run.effects)).toBe(0);
    expect(booksOf(connection).balance).toBe(350);
    expect(run.calls.map(({ effect }) => effect)).toEqual(["keyed", "keyed"]);
  }
});

test("a transfer is undone once, with a kill at each fault point", async () => {
  const { connection, database, options } = await bank();
  const agent = callingAgent({ act: transferTool(database), args: THREE, end: "failed" });
  const { points } = await everyFaultPoint(
    callingAgent({ act: transferTool(database, { undo: async () => null }), args: THREE, end: "failed" }),
    options,
  );
  expect(points).toContain("after:undo:act#2");
  for (const point of points) {
    const run = await killAt(agent, point, options);
    expect(run.status).toBe("failed");
    expect(booksOf(connection)).toEqual({ balance: 0, effects: [] });
  }
});

test("a failed transfer leaves nothing behind, and its key stays usable", async () => {
  const { connection, database } = await bank();
  const act = transferTool(database);
  await expect(act.run({ ...key("a"), input: { to: "nobody", cents: 100 } })).rejects.toThrow(
    "there is no account nobody",
  );
  expect(booksOf(connection)).toEqual({ balance: 0, effects: [] });
  expect(await act.run(key("a"))).toEqual({ balance: 100 });
});

test("transfers of one reply, side by side, do not mix their transactions", async () => {
  const { connection, database } = await bank();
  const act = transferTool(database);
  const failing = transferTool(database, {
    work: async (query) => {
      await query("UPDATE accounts SET cents = cents + 5000");
      throw new Error("no");
    },
  });
  const settled = await Promise.allSettled([act.run(key("a")), failing.run(key("b")), act.run(key("c"))]);
  expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(booksOf(connection).balance).toBe(200);
});

describe("a request that lands late", () => {
  test("with the key of a committed call returns its recorded result", async () => {
    const { connection, database } = await bank();
    const act = transferTool(database);
    await act.run(key("a"));
    await act.run(key("b"));
    expect(await act.run(key("a"))).toEqual({ balance: 100 });
    expect(booksOf(connection).balance).toBe(200);
  });

  test("from a stale epoch is refused, whatever its key", async () => {
    const { connection, database } = await bank();
    const act = transferTool(database);
    await act.run(key("b", 4));
    const late = act.run(key("a", 3));
    await expect(late).rejects.toMatchObject({ name: "StaleEpoch", code: "StaleEpoch" });
    await expect(act.run(key("b", 3))).rejects.toThrow(
      "cairn_epochs has seen a later epoch of run local-a than 3: another process has taken over the run",
    );
    expect(booksOf(connection).effects.map((each) => each.key)).toEqual(["act-b"]);
  });

  test("after its undo is refused, also if the undo came first", async () => {
    const { connection, database } = await bank();
    const act = transferTool(database);
    await act.undo?.run(key("undo"));
    await expect(act.run(key("a"))).rejects.toMatchObject({ name: "Rejected" });
    await act.undo?.run(key("undo"));
    expect(booksOf(connection)).toEqual({ balance: 0, effects: [] });
  });

  test("of another run, or of the same ID after 30 days, is not stale", async () => {
    const { database } = await bank();
    await transferTool(database, { now: () => 0 }).run(key("a", 9));
    await transferTool(database, { now: () => 1 }).run({ ...key("b", 1), run: "local-b" });
    const [before, after] = [30 * 24 * 3_600_000, 30 * 24 * 3_600_000 + 1].map((at) =>
      transferTool(database, { now: () => at }),
    );
    await expect(before?.run(key("c", 1))).rejects.toMatchObject({ name: "StaleEpoch" });
    expect(await after?.run(key("d", 1))).toEqual({ balance: 300 });
  });
});

test("says what to type when the effect tables are missing", async () => {
  const connection = new DatabaseSync(":memory:");
  onTestFinished(() => connection.close());
  const database = sqliteDatabase(connection);
  await expect(transferTool(database).run(key("a"))).rejects.toThrow(
    "the database has no effect table: call createEffectTables(database) once, or add EFFECT_TABLES to your migrations",
  );
  await createEffectTables(database);
  await expect(transferTool(database).run(key("a"))).rejects.toThrow("no such table: bookings");
});

test("a result that is not JSON rolls the transfer back", async () => {
  const { connection, database } = await bank();
  const act = transferTool(database, {
    work: async (query) => {
      await query("UPDATE accounts SET cents = 7");
      return new Map();
    },
  });
  await expect(act.run(key("a"))).rejects.toThrow("the result of work is not JSON, so it was rolled back");
  expect(booksOf(connection).balance).toBe(0);
});

test("finds statements that run outside of the transaction: they are doubled by a kill", async () => {
  const { connection, options } = await bank();
  const outside = tool({
    input: transferInput,
    effect: "keyed",
    run: ({ input: { cents, to }, key }) => {
      connection.prepare("INSERT INTO bookings VALUES (?, ?, ?)").run(key, to, cents);
    },
  });
  const run = await killAt(callingAgent({ act: outside, args: TWO }), "after:effect:act", options);
  expect(duplicatesIn(run.effects)).toBe(1);
  expect((await runAgent(callingAgent({ act: outside, args: TWO }), options)).status).toBe("completed");
});
