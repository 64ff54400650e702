/** A bank in SQL: accounts, and the effect tables of cairn, on SQLite and on PostgreSQL. */
import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import {
  type PgPoolLike,
  type SqlDatabase,
  type SqlEffectOptions,
  createEffectTables,
  sqlEffect,
} from "../../../src/effects/index.ts";
import type { ToolSettings } from "../../../src/effects/settings.ts";
import type { MadeEffect } from "./service-view.ts";

export const transferInput = z.object({ to: z.string(), cents: z.int() });

const TABLES = [
  "CREATE TABLE accounts (id TEXT PRIMARY KEY, cents INTEGER NOT NULL)",
  // No key is unique here, so a statement that is committed twice shows as two rows.
  "CREATE TABLE bookings (call_key TEXT NOT NULL, account TEXT NOT NULL, cents INTEGER NOT NULL)",
  "INSERT INTO accounts VALUES ('ada', 0)",
];

export async function openBank(database: SqlDatabase): Promise<void> {
  await createEffectTables(database);
  await database.transaction(async (query) => {
    for (const sql of TABLES) await query(sql);
  });
}

/** A transfer to an account; its undo takes the money back. */
export function transferTool(
  database: SqlDatabase,
  of: Partial<SqlEffectOptions<typeof transferInput> & ToolSettings<typeof transferInput>> = {},
) {
  const [p1, p2, p3] = [1, 2, 3].map((position) => database.placeholder(position));
  return sqlEffect({
    input: transferInput,
    database,
    work: async (query, { input: { to, cents }, key }) => {
      await query(`INSERT INTO bookings (call_key, account, cents) VALUES (${p1}, ${p2}, ${p3})`, [key, to, cents]);
      const sql = `UPDATE accounts SET cents = cents + ${p1} WHERE id = ${p2} RETURNING cents`;
      const [account] = await query(sql, [cents, to]);
      if (account === undefined) throw new Error(`there is no account ${to}`);
      return { balance: account["cents"] };
    },
    undo: async (query, { input: { to, cents }, of }) => {
      await query(`DELETE FROM bookings WHERE call_key = ${p1}`, [of.key]);
      await query(`UPDATE accounts SET cents = cents - ${p1} WHERE id = ${p2}`, [cents, to]);
    },
    ...of,
  });
}

interface Books {
  readonly balance: number;
  readonly effects: readonly MadeEffect[];
}

interface Booking {
  readonly call_key: string;
  readonly account: string;
  readonly cents: number;
}

const effectsOf = (rows: readonly unknown[]): readonly MadeEffect[] =>
  (rows as readonly Booking[]).map(({ call_key: key, account: to, cents }) => ({
    ...{ key, input: { to, cents }, result: null, undone: false },
  }));

/** What the bank has booked, read on its own connection. */
export function booksOf(connection: DatabaseSync): Books {
  const [account] = connection.prepare("SELECT cents FROM accounts WHERE id = 'ada'").all();
  return {
    balance: Number(account?.["cents"]),
    effects: effectsOf(connection.prepare("SELECT * FROM bookings").all()),
  };
}

/** What the effect of `queryRows` has booked, read through a client. */
export async function booksIn(pool: PgPoolLike): Promise<Books> {
  const client = await pool.connect();
  const [account] = (await client.query("SELECT cents FROM accounts WHERE id = 'ada'")).rows;
  const { rows } = await client.query("SELECT * FROM bookings");
  client.release();
  return { balance: Number((account as { readonly cents: number }).cents), effects: effectsOf(rows) };
}
