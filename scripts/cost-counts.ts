/** What a measurement of cost counts, and what that costs by list prices. */
import type { MeteredCall } from "../src/adapters/aws/meter.ts";
import { MEMORY_GB, OWN_MS, PRICES, WAIT_MS } from "../src/history/aws-prices.ts";

export interface Counts {
  invocations: number;
  transitions: number;
  writes: number;
  writeUnits: number;
  reads: number;
  readUnits: number;
  puts: number;
  gets: number;
  logBytes: number;
}

export const nothing = (): Counts => ({
  ...{ invocations: 0, transitions: 0, logBytes: 0 },
  ...{ writes: 0, writeUnits: 0, reads: 0, readUnits: 0, puts: 0, gets: 0 },
});

/** A list of the bucket is priced like a put, and a removal costs nothing. */
export function count(counts: Counts, { service, operation, units }: Omit<MeteredCall, "input">): void {
  const isRead = /^(Get|Query|Head|BatchGet)/.test(operation);
  if (service === "bucket" && !operation.startsWith("Delete")) counts[isRead ? "gets" : "puts"] += 1;
  if (service !== "table") return;
  counts[isRead ? "reads" : "writes"] += 1;
  counts[isRead ? "readUnits" : "writeUnits"] += units ?? 1;
}

export function priced(counts: Counts, thousands: number): Record<string, string | number> {
  const per = (n: number): number => n / thousands;
  const { invocations, transitions, writes, writeUnits, reads, readUnits, puts, gets, logBytes } = counts;
  const ms = (writes + reads) * WAIT_MS.table + puts * WAIT_MS.put + gets * WAIT_MS.get + invocations * OWN_MS;
  const dollars = {
    machine: per(transitions) * PRICES.transition,
    functions: per(invocations) * PRICES.invocation + (per(ms) / 1_000) * MEMORY_GB * PRICES.gigabyteSecond,
    table: per(writeUnits) * PRICES.writeUnit + per(readUnits) * PRICES.readUnit,
    bucket: per(puts) * PRICES.put + per(gets) * PRICES.get,
  };
  const sum = Object.values(dollars).reduce((all, each) => all + each, 0);
  return {
    ...Object.fromEntries(
      Object.entries({ invocations, transitions, writes, writeUnits, reads, readUnits, puts, gets }).map(
        ([name, n]) => [name, Math.round(per(n))],
      ),
    ),
    ...Object.fromEntries(Object.entries(dollars).map(([name, each]) => [`${name} $`, each.toFixed(5)])),
    "sum $": sum.toFixed(5),
    "logs $": ((per(logBytes) / 1e9) * PRICES.logGigabyte).toFixed(5),
  };
}
