/**
 * The shop's office, as files in `.office`: your own service takes its place. It does what keyed tools need: a request
 * with a known key gets the first answer again, and no second effect.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Order {
  readonly customer: string;
  readonly items: readonly { readonly name: string; readonly euros: number; readonly arrived: boolean }[];
}

const ORDERS: Readonly<Record<string, Order>> = {
  "A-1": { customer: "ada@example.org", items: [{ name: "a cup", euros: 12, arrived: false }] },
  "A-2": {
    customer: "ben@example.org",
    items: [
      { name: "a lamp", euros: 120, arrived: false },
      { name: "a bulb", euros: 4, arrived: true },
    ],
  },
};

export function readOrder(order: string): Order {
  const found = ORDERS[order];
  if (found === undefined) throw new Error(`there is no order ${order}`);
  return found;
}

export const refund = (of: { readonly order: string; readonly euros: number }, key: string): { refund: string } =>
  once("refunds", key, { refund: `R-${of.order}`, ...of });

export const mail = (of: { readonly order: string; readonly text: string }, key: string): { mail: string } =>
  once("mails", key, { mail: `to ${readOrder(of.order).customer}`, ...of });

/** Writes an effect into a file that is named by its key, unless it is there. */
function once<Effect>(kind: string, key: string, effect: Effect): Effect {
  const dir = join(process.env["OFFICE"] ?? ".office", kind);
  const file = join(dir, `${encodeURIComponent(key)}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Effect;
  mkdirSync(dir, { recursive: true });
  // A process that dies while it writes leaves a file with another name.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(effect));
  renameSync(`${file}.${process.pid}`, file);
  return effect;
}
