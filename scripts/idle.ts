/**
 * `npm run cost:idle [-- STAGE]`: prints the monthly cost of a deployment in which no agent runs. It multiplies the
 * resources of a deployment by list prices. The free tier of an account is not deducted.
 */
import { ALIVE_SHARDS } from "../src/adapters/aws/table/keys.ts";
import { described } from "./described.ts";
import { MEMORY_GB, OWN_MS, PRICES, WAIT_MS } from "../src/history/aws-prices.ts";

const MINUTES = 30 * 24 * 60;
/** An eventually consistent read of an index costs half a unit, however little the index holds. */
const SHARD_UNITS = 0.5;
/** The search for orphans looks this often whether a pass is due. */
const ORPHANS_MINUTES = 10;
/** A sweep acquires its mutex lease and releases it. */
const TURN_WRITES = 2;

const { plan, resources } = await described(process.argv[2] ?? "dev");
const of = (type: string) => resources.filter((resource) => resource.type === `aws:${type}`);

const sweeps = MINUTES / plan.options.sweepMinutes;
const searches = MINUTES / ORPHANS_MINUTES;
const sweepMs = (ALIVE_SHARDS + TURN_WRITES) * WAIT_MS.table + OWN_MS;
const metricsOf = (queries: unknown): number =>
  Array.isArray(queries) ? queries.filter((query: { metric?: unknown }) => query.metric !== undefined).length : 1;
const alarmed = of("cloudwatch/metricAlarm:MetricAlarm").map(({ inputs }) => metricsOf(inputs["metricQueries"]));

const dollars = {
  [`${sweeps} sweeps: functions`]:
    sweeps * (PRICES.invocation + (sweepMs / 1_000) * MEMORY_GB * PRICES.gigabyteSecond + PRICES.firing),
  [`${sweeps} sweeps: table`]: sweeps * (ALIVE_SHARDS * SHARD_UNITS * PRICES.readUnit + TURN_WRITES * PRICES.writeUnit),
  [`${searches} searches for orphans`]:
    searches *
    (PRICES.invocation +
      ((WAIT_MS.table + OWN_MS) / 1_000) * MEMORY_GB * PRICES.gigabyteSecond +
      (PRICES.firing + PRICES.readUnit)),
  [`${alarmed.length} alarms`]: alarmed.reduce((sum, metrics) => sum + metrics * PRICES.alarm, 0),
  [`${of("cloudwatch/dashboard:Dashboard").length} dashboard`]:
    of("cloudwatch/dashboard:Dashboard").length * PRICES.dashboard,
  "1 metric that counts sweeps": PRICES.metric,
};
for (const [what, each] of Object.entries(dollars)) console.log(`${what.padEnd(30)} $${each.toFixed(2)}`);
const sum = Object.values(dollars).reduce((all, each) => all + each, 0);
console.log(`${"a month".padEnd(30)} $${sum.toFixed(2)}`);
console.log("Ten alarms, ten metrics and three dashboards are free in every account; what is stored is beside it.");
