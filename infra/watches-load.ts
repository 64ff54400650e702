/** Watches of the load, the latency and the cost of a deployment. The others are in `watches.ts`. */
import { ERRORS, OF_BEAT, tail, typed } from "./log-queries.ts";
import { EVENTS, type Names, agentFunction, kindOf } from "./names.ts";
import { type Plan, functionsOf, secondsOf } from "./plan.ts";
import { OPEN_EXECUTIONS, STARTS_THROTTLED, ofApi, ofCairn, ofFunction } from "./series.ts";
import { LASTING, MINUTES, ONCE, REPEATED, type Watch, watch } from "./watch.ts";

const HOUR = 60 * MINUTES;
const FAILED_MAX = 2;
const GATE_HOURS = 24;
const QUEUED_MINUTES = 15;
/** A tenth of the account's quota of open executions, as AWS recommends. */
const OPEN_MAX = 100_000;
const LATENCY_MS = 5_000;
/** The percentage of a function's timeout from which its duration counts as slow. */
const SLOW_PERCENT = 90;

/** The watches of load, latency and cost. */
export function loadWatchesOf(names: Names, plan: Plan): readonly Watch[] {
  return [...ofWork(names, plan), ...ofApiOf(names, plan), ...ofTimes(names, plan), ofSpending(names, plan)];
}

function ofWork(names: Names, { isolated }: Plan): readonly Watch[] {
  const beat = isolated.length === 0 ? "beat" : agentFunction("AGENT");
  const list = (status: string): string => typed(`npx cairn list --world aws --status ${status}`);
  return [
    watch("runs-failed", ofCairn(names, "RunsFailed"), {
      ...{ ...ONCE, periodSeconds: 15 * MINUTES, threshold: FAILED_MAX },
      means: `More than ${FAILED_MAX} runs failed within 15 minutes, for any reason`,
      todo: `${list("failed")}, then ${typed("npx cairn show RUN --world aws")} shows why; to continue runs that failed for an infrastructure reason: ${typed("npx cairn redrive RUN --world aws")}`,
    }),
    watch("gates-old", ofCairn(names, "OldestGateSeconds", "Maximum"), {
      ...{ ...ONCE, periodSeconds: HOUR, threshold: GATE_HOURS * HOUR },
      means: `A run has waited for an approval for more than ${GATE_HOURS} hours; when it expires it is denied, or asked again where its agent says so`,
      todo: `${list("waiting")} shows the oldest last, and ${typed("npx cairn show RUN --world aws")} shows what to type to approve or deny`,
    }),
    watch("runs-queued-long", ofCairn(names, "OldestQueuedSeconds", "Maximum"), {
      ...{ ...REPEATED, threshold: QUEUED_MINUTES * MINUTES },
      means: `A run has waited for its first beat for more than ${QUEUED_MINUTES} minutes: its execution was not started, or its function is throttled`,
      todo: `${list("queued")}; the alarms ${typed("start-throttled")}, ${typed(`${beat}-throttled`)} and ${typed("starts-throttled")} show which limit is reached; the sweeper starts the run again by itself`,
    }),
    watch("executions-open", OPEN_EXECUTIONS, {
      ...{ ...LASTING, threshold: OPEN_MAX },
      means: `More than ${OPEN_MAX.toLocaleString("en-US")} executions are open in the account, over all its machines; at 1,000,000 no run can be started`,
      todo: `${list("running")}, or ${list("waiting")}: end runs that are not needed with ${typed("npx cairn cancel RUN --world aws")}, or ask for a higher quota in Service Quotas`,
    }),
    watch("starts-throttled", STARTS_THROTTLED, {
      ...LASTING,
      means:
        "Step Functions throttled starts of executions in this account for 15 minutes: runs stay queued until the sweeper starts them",
      todo: "Ask for a higher quota of StartExecution in Service Quotas, or start runs more slowly",
    }),
  ];
}

function ofApiOf(names: Names, { options }: Plan): readonly Watch[] {
  // API Gateway measures a stream of events whole, and that shall last.
  const latency = options.eventStreams
    ? ofFunction(names, "api", ["Duration", "p99"])
    : ofApi(names, ["Latency", "p99"]);
  return [
    watch("api-faults", ofApi(names, ["5XXError", "Sum"]), {
      ...REPEATED,
      means:
        "The API answered requests with a server error (5XX), in two of three periods of 5 minutes. Callers that repeat a request with its key lose nothing",
      todo: `${tail(names, "api", ERRORS)}; the answer has an ${typed("instance")}, and the log has the error under that value`,
    }),
    watch("api-slow", latency, {
      ...{ ...LASTING, threshold: LATENCY_MS },
      means: `One request in a hundred took longer than ${LATENCY_MS / 1_000} s for 15 minutes; API Gateway gives up after 29 s`,
      todo: `${tail(names, "api", ERRORS)}; the alarms of the table and ${typed("api-throttled")} show which limit is reached; deploy.concurrencyReserved in cairn.config.ts reserves concurrency for the API`,
    }),
  ];
}

function ofTimes(names: Names, plan: Plan): readonly Watch[] {
  // A stream of events lasts as long as it may.
  const timed = functionsOf(plan).filter((fn) => fn !== EVENTS);
  return timed.map((fn) =>
    watch(`${fn}-near-timeout`, ofFunction(names, fn, ["Duration", "Maximum"]), {
      ...{ ...REPEATED, threshold: (secondsOf(fn, plan) * 1_000 * SLOW_PERCENT) / 100 },
      means: `Invocations of this function took more than ${SLOW_PERCENT} % of its timeout, in two of three periods of 5 minutes; an invocation that times out is repeated`,
      todo: `${tail(names, fn, kindOf(fn) === "beat" ? OF_BEAT : ERRORS)} shows what failed meanwhile. Raise beatSeconds in cairn.config.ts, or lower the timeouts of tools and models; a sweep continues where it stopped`,
    }),
  );
}

function ofSpending(names: Names, { options }: Plan): Watch {
  const { spendPerDayUsd } = options;
  return watch("spent-per-day", ofCairn(names, "SpentMicroUsd"), {
    ...{ ...ONCE, periodSeconds: 24 * HOUR, threshold: spendPerDayUsd * 1e6 },
    means: `Models cost more than $${spendPerDayUsd} within a day (deploy.spendPerDayUsd), as far as their prices are known`,
    todo: `${typed("npx cairn list --world aws")} shows what each run spent; ${typed("npx cairn pause RUN --world aws")} pauses a run, and the budget of its agent limits every run`,
  });
}
