/**
 * SQL statements as the effect of a tool, in one transaction with a row of the effect table. The row has the call's key
 * as its primary key, so the statements of a call are committed once, however often it is repeated. The class is `keyed`.
 *
 * A second table has the highest epoch of each run. A transaction of a lower epoch is refused: it comes from a process
 * that has lost the run, and could overwrite what the run has done since.
 */
import type * as z from "zod";
import { asJson } from "../codec/value.ts";
import type { Json } from "../core/json.ts";
import type { OfCall, Tool, ToolContext } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { tool } from "../sdk/define.ts";
import { Rejected } from "../sdk/outcome.ts";
import type { ToolSettings } from "./settings.ts";
import type { Query, SqlDatabase } from "./sql-database.ts";
import { StaleEpoch } from "./stale-epoch.ts";

type SqlContext<Input> = Pick<ToolContext<Input>, "input" | "key" | "run" | "task" | "restart" | "epoch" | "signal">;

export interface SqlEffectOptions<Schema extends z.ZodType> {
  readonly database: SqlDatabase;
  /** The statements. Its result is recorded in the effect table, and is the result of every repetition. */
  readonly work: (query: Query, context: SqlContext<z.output<Schema>>) => unknown;
  /** The statements that undo those of the call `of`. It is called only if that call was committed, and once. */
  readonly undo?: (query: Query, context: SqlContext<z.output<Schema>> & OfCall) => unknown;
  /** Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * The tables of `sqlEffect`, for a migration. `createEffectTables` runs the same. Rows of `cairn_effects` may be deleted
 * when their run has ended.
 */
export const EFFECT_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS cairn_effects (
    call_key TEXT PRIMARY KEY, run TEXT NOT NULL, epoch BIGINT NOT NULL, result TEXT, undone_by TEXT, at BIGINT NOT NULL)`,
  "CREATE TABLE IF NOT EXISTS cairn_epochs (run TEXT PRIMARY KEY, epoch BIGINT NOT NULL, at BIGINT NOT NULL)",
];

export async function createEffectTables(database: SqlDatabase): Promise<void> {
  await database.transaction(async (query) => {
    for (const sql of EFFECT_TABLES) await query(sql);
  });
}

/**
 * A tool whose calls are SQL transactions.
 *
 * @example
 *   const transfer = sqlEffect({
 *     input: z.object({ to: z.string(), cents: z.int() }),
 *     database,
 *     work: (query, { input: { to, cents } }) =>
 *       query("UPDATE accounts SET cents = cents + $1 WHERE id = $2 RETURNING cents", [cents, to]),
 *     undo: (query, { input: { to, cents } }) =>
 *       query("UPDATE accounts SET cents = cents - $1 WHERE id = $2", [cents, to]),
 *   });
 */
export function sqlEffect<Schema extends z.ZodType>(
  options: ToolSettings<Schema> & SqlEffectOptions<Schema>,
): Tool<Schema> {
  const { database, work, undo, now = Date.now, ...settings } = options;
  if (typeof database?.transaction !== "function") {
    throw new AgentInvalid("sqlEffect has no database: write database: sqliteDatabase(...) or postgresDatabase(...)");
  }
  const tables = new EffectTables(database, now);
  return tool({
    ...settings,
    effect: "keyed",
    run: (context) => tables.act(context, (query) => work(query, context)),
    ...(undo && {
      undo: {
        effect: "keyed" as const,
        run: (context: ToolContext<z.output<Schema>> & OfCall) =>
          tables.undo(context, (query, result) => undo(query, { ...context, of: { ...context.of, result } })),
      },
    }),
  });
}

type Caller = Pick<ToolContext<unknown>, "key" | "run" | "epoch">;

/** A run cannot begin again under its ID before its idempotency key is forgotten, after 30 days. */
const EPOCH_MS_MAX = 30 * 24 * 3_600_000;

class EffectTables {
  readonly #database: SqlDatabase;
  readonly #now: () => number;

  constructor(database: SqlDatabase, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  async act(caller: Caller, work: (query: Query) => unknown): Promise<Json> {
    return this.#transaction(caller, async (query) => {
      if (!(await this.#insert(query, caller, { key: caller.key, undoneBy: null })))
        return this.#recorded(query, caller);
      const result = asJson(await work(query));
      if (!result.ok) throw new TypeError(`the result of work is not JSON, so it was rolled back: ${result.why}`);
      const [p1, p2] = [this.#database.placeholder(1), this.#database.placeholder(2)];
      const values = [JSON.stringify(result.json), caller.key];
      await query(`UPDATE cairn_effects SET result = ${p1} WHERE call_key = ${p2}`, values);
      return result.json;
    });
  }

  /** The row of a call that never happened stays as undone: a request of it that is still under way then does nothing. */
  async undo(caller: Caller & OfCall, work: (query: Query, result: Json) => unknown): Promise<null> {
    const { key } = caller.of;
    return this.#transaction(caller, async (query) => {
      if (await this.#insert(query, caller, { key, undoneBy: caller.key })) return null;
      const row = await this.#read(query, key);
      if (row.undoneBy !== null) return null;
      const [p1, p2] = [this.#database.placeholder(1), this.#database.placeholder(2)];
      await work(query, row.result);
      await query(`UPDATE cairn_effects SET undone_by = ${p1} WHERE call_key = ${p2}`, [caller.key, key]);
      return null;
    });
  }

  async #transaction<T>(caller: Caller, work: (query: Query) => Promise<T>): Promise<T> {
    try {
      return await this.#database.transaction(async (query) => {
        await this.#fence(query, caller);
        return work(query);
      });
    } catch (error) {
      throw isMissingTable(error) ? new Error(MISSING_TABLE, { cause: error }) : error;
    }
  }

  /** Raises the epoch of the run. Until the end of the transaction other calls of the run wait here. */
  async #fence(query: Query, { run, epoch }: Caller): Promise<void> {
    const [at, p] = [this.#now(), this.#database.placeholder];
    const raised = await query(
      `INSERT INTO cairn_epochs (run, epoch, at) VALUES (${p(1)}, ${p(2)}, ${p(3)})
       ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch, at = excluded.at
       WHERE cairn_epochs.epoch <= excluded.epoch OR cairn_epochs.at < ${p(4)} RETURNING run`,
      [run, epoch, at, at - EPOCH_MS_MAX],
    );
    if (raised.length === 0) throw new StaleEpoch({ run, epoch, target: "cairn_epochs" });
  }

  /** Whether there was no row of that key. */
  async #insert(
    query: Query,
    { run, epoch }: Caller,
    { key, undoneBy }: { readonly key: string; readonly undoneBy: string | null },
  ): Promise<boolean> {
    const p = this.#database.placeholder;
    const inserted = await query(
      `INSERT INTO cairn_effects (call_key, run, epoch, undone_by, at)
       VALUES (${p(1)}, ${p(2)}, ${p(3)}, ${p(4)}, ${p(5)}) ON CONFLICT (call_key) DO NOTHING RETURNING call_key`,
      [key, run, epoch, undoneBy, this.#now()],
    );
    return inserted.length > 0;
  }

  async #recorded(query: Query, { key }: Caller): Promise<Json> {
    const { result, undoneBy } = await this.#read(query, key);
    if (undoneBy !== null) throw new Rejected(`the call with key ${key} was undone`);
    return result;
  }

  async #read(query: Query, key: string): Promise<{ readonly result: Json; readonly undoneBy: string | null }> {
    const p1 = this.#database.placeholder(1);
    const [row] = await query(`SELECT result, undone_by FROM cairn_effects WHERE call_key = ${p1}`, [key]);
    if (row === undefined) throw new Error(`the row of key ${key} in cairn_effects is gone`);
    const { result, undone_by: undoneBy } = row as {
      readonly result: string | null;
      readonly undone_by: string | null;
    };
    return { result: result === null ? null : (JSON.parse(result) as Json), undoneBy };
  }
}

const MISSING_TABLE =
  "the database has no effect table: call createEffectTables(database) once, or add EFFECT_TABLES to your migrations";

const isMissingTable = (error: unknown): boolean =>
  error instanceof Error &&
  /cairn_(effects|epochs)/.test(error.message) &&
  /no such table|does not exist/.test(error.message);
