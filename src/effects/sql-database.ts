/**
 * Databases of the user as `sqlEffect` sees them: one transaction after or beside another. Whether a transaction
 * happened is known unless its COMMIT got no answer.
 */
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { requireMethods } from "./settings.ts";

/** Runs one statement in the transaction, and returns its rows. The placeholders are those of the database. */
export type Query = (sql: string, values?: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export interface SqlDatabase {
  /**
   * Commits what `work` does, or nothing of it if `work` rejects. Rejects with `OutcomeUnknown` if the commit may have
   * happened.
   */
  readonly transaction: <T>(work: (query: Query) => Promise<T>) => Promise<T>;
  /** The placeholder of value number `position`, counted from 1. */
  readonly placeholder: (position: number) => string;
}

/** A `DatabaseSync` of `node:sqlite`. */
export interface SqliteLike {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: never[]): unknown };
}

/** The transactions of each connection: one has to end before the next begins, since a connection has only one. */
const queues = new WeakMap<SqliteLike, Promise<unknown>>();

/**
 * A SQLite database. Its connection belongs to the effects: a statement of other code would become part of the
 * transaction that is open.
 *
 * @example
 *   const database = sqliteDatabase(new DatabaseSync("shop.sqlite", { timeout: 5_000 }));
 */
export function sqliteDatabase(connection: SqliteLike): SqlDatabase {
  requireMethods(connection, ["exec", "prepare"], "give sqliteDatabase a DatabaseSync of node:sqlite");
  const query: Query = async (sql, values = []) =>
    connection.prepare(sql).all(...(values as readonly never[])) as Awaited<ReturnType<Query>>;
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = (queues.get(connection) ?? Promise.resolve()).then(work, work);
    queues.set(
      connection,
      turn.catch(() => undefined),
    );
    return turn;
  };
  return {
    placeholder: () => "?",
    transaction: (work) =>
      inTurn(async () => {
        // The write lock comes first: a transaction that reads before it writes could not get it any more.
        connection.exec("BEGIN IMMEDIATE");
        try {
          const worked = await work(query);
          connection.exec("COMMIT");
          return worked;
        } catch (error) {
          rollBack(connection, error);
          throw error;
        }
      }),
  };
}

/** Without a transaction to roll back, the failed COMMIT may have been written. */
function rollBack(connection: SqliteLike, cause: unknown): void {
  try {
    connection.exec("ROLLBACK");
  } catch {
    throw new OutcomeUnknown("SQLite did not say whether the transaction was committed", { cause });
  }
}

/** A pool of `pg`, or of a driver of the same form. */
export interface PgPoolLike {
  connect(): Promise<PgClientLike>;
  /** A pool of `pg` reports the loss of an idle connection as the event `error`. */
  on?(event: "error", listener: (error: Error) => void): unknown;
}

export interface PgClientLike {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  release(destroy?: boolean): void;
  /** A client of `pg` reports the loss of its connection as the event `error`, besides rejecting its queries. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  off?(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * Hears the event `error`, which would end the process if it had no listener. A lost connection rejects the queries of
 * its call, and its pool replaces it.
 */
const hearLoss = (): void => undefined;

/** The pools that have the listener: several databases may share a pool. */
const heard = new WeakSet<PgPoolLike>();

/**
 * A PostgreSQL database behind a pool of the package `pg`.
 *
 * @example
 *   const database = postgresDatabase(new Pool({ connectionString }));
 */
export function postgresDatabase(pool: PgPoolLike): SqlDatabase {
  requireMethods(pool, ["connect"], "give postgresDatabase a Pool of the package pg");
  if (!heard.has(pool)) pool.on?.("error", hearLoss);
  heard.add(pool);
  return {
    placeholder: (position) => `$${position}`,
    transaction: async (work) => {
      const client = await pool.connect();
      // The pool does not listen to a client that it has handed out.
      client.on?.("error", hearLoss);
      let isBroken = true;
      try {
        await client.query("BEGIN");
        const worked = await workedOrRolledBack(client, work);
        await commit(client);
        isBroken = false;
        return worked;
      } catch (error) {
        isBroken = !(error instanceof RolledBack);
        throw error instanceof RolledBack ? error.cause : error;
      } finally {
        client.off?.("error", hearLoss);
        // A connection with an open transaction must not go to the next caller.
        client.release(isBroken);
      }
    },
  };
}

/** The transaction is over, and the connection is fit for the next one. */
class RolledBack extends Error {}

async function workedOrRolledBack<T>(client: PgClientLike, work: (query: Query) => Promise<T>): Promise<T> {
  try {
    return await work(async (sql, values = []) => {
      const { rows } = await client.query(sql, [...values]);
      return rows as Awaited<ReturnType<Query>>;
    });
  } catch (error) {
    await client.query("ROLLBACK");
    throw new RolledBack("rolled back", { cause: error });
  }
}

/** Codes with which a COMMIT itself fails: a violated constraint, or a conflict with another transaction. */
const COMMIT_REFUSED = /^(23...|40001|40002|40P01)$/;

async function commit(client: PgClientLike): Promise<void> {
  try {
    await client.query("COMMIT");
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (COMMIT_REFUSED.test(String(code))) throw new RolledBack("refused", { cause: error });
    throw new OutcomeUnknown("PostgreSQL did not say whether the transaction was committed", { cause: error });
  }
}
