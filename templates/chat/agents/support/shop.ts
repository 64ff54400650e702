/**
 * The shop, as files in `.office`: your own service takes its place. It does what keyed tools need: a request with a
 * known key gets the first answer again, and no second effect.
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

export interface Refund {
  readonly refund: string;
  readonly order: string;
  readonly euros: number;
}

/** Writes the refund into a file that is named by its key, unless it is there. */
export function refund(of: { readonly order: string; readonly euros: number }, key: string): Refund {
  const dir = join(process.env["OFFICE"] ?? ".office", "refunds");
  const file = join(dir, `${encodeURIComponent(key)}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Refund;
  const made: Refund = { refund: `R-${of.order}`, ...of };
  mkdirSync(dir, { recursive: true });
  // A process that dies while it writes leaves a file with another name.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(made));
  renameSync(`${file}.${process.pid}`, file);
  return made;
}
