/** The SQL effect on PostgreSQL itself, compiled to WebAssembly. */
import { EventEmitter } from "node:events";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type PgClientLike, type PgPoolLike, type SqlDatabase, postgresDatabase } from "../../src/effects/index.ts";
import { type AgentRun, expectEffectsOnce, killAt, runAgent } from "../../src/testing/kit/index.ts";
import { booksIn, openBank, transferTool } from "../support/services/bank.ts";
import { duplicatesIn, serviceView } from "../support/services/service-view.ts";
import { callContext } from "../support/agents/call-context.ts";
import { callingAgent } from "./calling-agent.ts";

/** The only connection of a PostgreSQL as a pool: a client waits until the one before it is released. */
function poolOf(connection: {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}): PgPoolLike & { readonly destroyed: number } {
  let free: Promise<void> = Promise.resolve();
  let destroyed = 0;
  return {
    get destroyed() {
      return destroyed;
    },
    connect: async (): Promise<PgClientLike> => {
      const released = Promise.withResolvers<void>();
      const before = free;
      free = released.promise;
      await before;
      return {
        query: (sql, values) => connection.query(sql, values),
        release: (destroy) => {
          if (destroy === true) destroyed += 1;
          released.resolve();
        },
      };
    },
  };
}

const TWO = [
  { to: "ada", cents: 100 },
  { to: "ada", cents: 250 },
];
const THREE = [...TWO, { to: "ada", cents: 999 }];

let postgres: PGlite;
let pool: ReturnType<typeof poolOf>;
let database: SqlDatabase;

beforeAll(async () => {
  postgres = await PGlite.create();
  pool = poolOf(postgres);
  database = postgresDatabase(pool);
  await openBank(database);
});

afterAll(() => postgres.close());

const clear = () =>
  postgres.exec("TRUNCATE bookings, cairn_effects, cairn_epochs; UPDATE accounts SET cents = 0 WHERE id = 'ada'");

beforeEach(clear);

const key = (letter: string, epoch = 1) =>
  callContext({ input: { to: "ada", cents: 100 }, key: `act-${letter}`, epoch, of: { key: "act-a", result: null } });

/** Stands for the database, which `judged` asks once the run is over. */
const bank = serviceView({ name: "bank", effects: () => [], reset: () => undefined });
const RUN = { input: {}, services: [bank] };

/** The run with what the database has booked, as the kit judges it. */
async function judged(run: AgentRun): Promise<AgentRun> {
  const effects = (await booksIn(pool)).effects.map((effect) => ({
    ...{ ...effect, service: "bank", subject: JSON.stringify(effect.input) },
  }));
  return { ...run, effects, watched: { tools: ["act"], services: ["bank"] } };
}

test("a transfer is committed once, with a kill at each fault point", async () => {
  const agent = callingAgent({ act: transferTool(database), args: TWO });
  const { points } = await runAgent(agent, RUN);
  expect(points).toContain("after:effect:act#2");
  for (const point of points) {
    await clear();
    const run = await judged(await killAt(agent, point, RUN));
    expect(run.status).toBe("completed");
    expectEffectsOnce(run);
    expect(duplicatesIn(run.effects)).toBe(0);
    expect((await booksIn(pool)).balance).toBe(350);
  }
});

test("a transfer is undone once, with a kill at each fault point", async () => {
  const agent = callingAgent({ act: transferTool(database), args: THREE, end: "failed" });
  const { points } = await runAgent(agent, RUN);
  expect(points).toContain("after:undo:act#2");
  for (const point of points) {
    await clear();
    expect((await killAt(agent, point, RUN)).status).toBe("failed");
    expect(await booksIn(pool)).toEqual({ balance: 0, effects: [] });
  }
});

test("refuses a stale epoch, and a call that was undone, and books neither", async () => {
  const act = transferTool(database);
  await act.run(key("b", 4));
  await expect(act.run(key("a", 3))).rejects.toMatchObject({ name: "StaleEpoch" });
  await act.undo?.run(key("undo", 4));
  await expect(act.run(key("a", 4))).rejects.toMatchObject({ name: "Rejected" });
  expect((await booksIn(pool)).effects.map((each) => each.key)).toEqual(["act-b"]);
});

test("rolls back a failed statement, and one whose error the tool hides", async () => {
  const doomed = transferTool(database, { work: (query) => query("INSERT INTO nowhere VALUES (1)") });
  await expect(doomed.run(key("a"))).rejects.toThrow(/relation "nowhere" does not exist/);
  const hidden = transferTool(database, {
    work: async (query) => {
      await query("UPDATE accounts SET cents = 7");
      await query("INSERT INTO nowhere VALUES (1)").catch(() => undefined);
    },
  });
  await expect(hidden.run(key("a"))).rejects.toThrow(/current transaction is aborted/);
  expect((await booksIn(pool)).balance).toBe(0);
  const hiddenUndo = transferTool(database, {
    undo: (query) => query("INSERT INTO nowhere VALUES (1)").catch(() => undefined),
  });
  await hiddenUndo.run(key("c"));
  await expect(hiddenUndo.undo?.run({ ...key("undo"), of: { key: "act-c", result: null } })).rejects.toThrow(
    /current transaction is aborted/,
  );
  await clear();
  expect(await transferTool(database).run(key("a"))).toEqual({ balance: 100 });
});

/** The pool, whose connection breaks at the first COMMIT: before the server has it, or before its answer comes. */
function breaking(when: "before" | "after"): PgPoolLike & { readonly destroyed: number } {
  let isBroken = false;
  return poolOf({
    query: async (sql, values) => {
      if (sql !== "COMMIT" || isBroken) return postgres.query(sql, values);
      isBroken = true;
      await postgres.query(when === "after" ? sql : "ROLLBACK");
      throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "EPIPE" });
    },
  });
}

test.each(["before", "after"] as const)("a connection that breaks %s the commit leaves one transfer", async (when) => {
  const broken = breaking(when);
  const agent = callingAgent({ act: transferTool(postgresDatabase(broken)), args: TWO });
  const run = await judged(await runAgent(agent, RUN));
  expect(run.status).toBe("completed");
  expect(broken.destroyed).toBe(1);
  expectEffectsOnce(run);
  expect(duplicatesIn(run.effects)).toBe(0);
  expect((await booksIn(pool)).balance).toBe(350);
});

test("a commit that a deferred constraint refuses has failed, and its connection stays in use", async () => {
  const own = poolOf(postgres);
  await postgres.exec(
    "CREATE TABLE IF NOT EXISTS owners (account TEXT REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED)",
  );
  const act = transferTool(postgresDatabase(own), { work: (query) => query("INSERT INTO owners VALUES ('nobody')") });
  await expect(act.run(key("a"))).rejects.toMatchObject({ code: "23503" });
  expect(own.destroyed).toBe(0);
});

/** A pool and its clients that report a lost connection as `pg` does: by the event `error`, and by rejected queries. */
class LosingPool extends EventEmitter implements PgPoolLike {
  readonly clients: LosingClient[] = [];
  readonly #losesAt: string | null;

  constructor(losesAt: string | null) {
    super();
    this.#losesAt = losesAt;
  }

  async connect(): Promise<LosingClient> {
    const client = new LosingClient(this.#losesAt);
    this.clients.push(client);
    return client;
  }
}

class LosingClient extends EventEmitter implements PgClientLike {
  listenersAtLoss: number | null = null;
  listenersAtRelease: number | null = null;
  isDestroyed = false;
  #isLost = false;
  readonly #losesAt: string | null;

  constructor(losesAt: string | null) {
    super();
    this.#losesAt = losesAt;
  }

  async query(sql: string, values?: unknown[]) {
    if (sql === this.#losesAt) {
      await postgres.query("ROLLBACK");
      this.#isLost = true;
      // Without a listener the event would end the process.
      this.listenersAtLoss = this.listenerCount("error");
    }
    if (this.#isLost) throw new Error("Connection terminated unexpectedly");
    return postgres.query(sql, values);
  }

  release(destroy = false): void {
    this.listenersAtRelease = this.listenerCount("error");
    this.isDestroyed = destroy;
  }
}

test.each([
  ["a statement fails the call", "LOSE", "Error", "Connection terminated unexpectedly"],
  ["the commit is an unknown outcome", "COMMIT", "OutcomeUnknown", "did not say whether the transaction was committed"],
] as const)("a connection that is lost at %s, and its event does not end the process", async (_, at, name, why) => {
  const losing = new LosingPool(at);
  const act = transferTool(postgresDatabase(losing), { work: (query) => query(at === "COMMIT" ? "SELECT 1" : at) });
  await expect(act.run(key("a"))).rejects.toMatchObject({ name, message: expect.stringContaining(why) });
  expect(losing.clients).toMatchObject([{ listenersAtLoss: 1, listenersAtRelease: 0, isDestroyed: true }]);
  expect((await booksIn(pool)).balance).toBe(0);
});

test("hears the loss of an idle connection, once for all databases of a pool", async () => {
  const losing = new LosingPool(null);
  const [first, second] = [postgresDatabase(losing), postgresDatabase(losing)];
  await transferTool(first).run(key("a"));
  await transferTool(second).run(key("b"));
  expect(losing.emit("error", new Error("the server has closed an idle connection"))).toBe(true);
  expect(losing.listenerCount("error")).toBe(1);
  expect(losing.clients.map(({ listenersAtRelease }) => listenersAtRelease)).toEqual([0, 0]);
});
