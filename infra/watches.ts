/**
 * The watches of a deployment: each alarm, what it means and what to do about it. This table generates the alarms,
 * their descriptions and the operators' page (`docs/operations.md`).
 *
 * Most of these metrics have no data while everything works, so missing data is fine. The exception is the sweeper's
 * metric.
 */
import { ALARMS } from "../src/adapters/aws/metrics.ts";
import { TABLE } from "../src/adapters/aws/table/schema.ts";
import { ALL_CRACKS } from "../src/core/topologies/cracks.ts";
import { type DeployedFunction, type Names, kindOf } from "./names.ts";
import { DIED, ERRORS, OF_BEAT, alarms, explained, log, namesOfLogs, tail, typed } from "./log-queries.ts";
import { type Plan, functionsOf } from "./plan.ts";
import { ofCairn, ofFunction, ofIndex, ofLetters, ofMachine, ofTable } from "./series.ts";
import { LASTING, MINUTES, ONCE, PERIOD_SECONDS, REPEATED, type Watch, type Why, kebab, watch } from "./watch.ts";
import { loadWatchesOf } from "./watches-load.ts";

const STREAM_AGE_MS = 60 * MINUTES * 1_000;
const TAKEOVERS_PERCENT_MAX = 5;
/** The minimum number of beats for a percentage. Among ten beats, a single dead process is already 10 %. */
const BEATS_MIN = 100;
/** The sweeper counts as down after this many missed sweeps, and after at least this many minutes. */
const SWEEPS_MISSED = 3;
const SILENCE_MINUTES_MIN = 30;

/** All watches of a deployment. */
export function watchesOf(names: Names, plan: Plan): readonly Watch[] {
  const logs = namesOfLogs(names, plan);
  return [
    ...ofRuns(logs),
    ...RECORDED.map((what) => watch(kebab(what), ofCairn(names, what), { ...ONCE, ...WHY[what](logs) })),
    silentSweeper(names, plan),
    ...ofFunctions(names, plan),
    ...ofStores(names),
    ...ofExecutions(names),
    ...ofEvents(names),
    ...loadWatchesOf(names, plan),
  ].map((each) => ({ ...each, todo: explained(each.todo, names) }));
}

function ofRuns(names: Names): readonly Watch[] {
  const deaths: Why = {
    means:
      "A run failed because more of its processes died than the limit allows: its agent or Lambda ended them, or they hung",
    todo: `${typed("npx cairn list --world aws --status failed")}, then ${typed("npx cairn timeline RUN --world aws")}; the last output of the processes: ${tail(names, "beat", DIED)}`,
  };
  return [
    watch("runs-blocked", ofCairn(names, "RunsBlocked"), {
      ...ONCE,
      means: "A run has a call with an unknown outcome that must not be repeated, and waits for an operator",
      todo: `${typed("npx cairn list --world aws --status blocked")}, then ${typed("npx cairn show RUN --world aws")} shows which call, and what to type to reconcile it`,
    }),
    ...ALL_CRACKS.map((row) => crackWatch(names, row)),
    watch("crash-loop", ofCairn(names, "CrashLoop"), { ...ONCE, ...deaths }),
    watch("abandoned", ofCairn(names, "Abandoned"), { ...ONCE, ...deaths }),
    {
      ...ONCE,
      name: "takeovers",
      of: {
        kind: "percent",
        part: ofCairn(names, "Takeovers"),
        whole: ofCairn(names, "Beats"),
        wholeMin: BEATS_MIN,
      },
      ...{ periodSeconds: 60 * MINUTES, threshold: TAKEOVERS_PERCENT_MAX },
      means: `More than ${TAKEOVERS_PERCENT_MAX} % of an hour's beats (${BEATS_MIN} at least) took over from a dead process: memory or time is short, or an agent ends its process. No run is lost, but the lost work is done and paid for twice`,
      todo: `${tail(names, "beat", DIED)}; raise deploy.memoryMb or beatSeconds in cairn.config.ts and deploy`,
    },
  ];
}

/** A first signal, or an end where the signal alone is common and mends itself. */
function crackWatch(names: Names, row: (typeof ALL_CRACKS)[number]): Watch {
  const { crack, topology, metric, signal, threshold, recovery, response, counts } = row;
  const what = counts === "ends" ? "A run ended by the crack" : "A run gave the first signal of the crack";
  const runs = counts === "ends" ? "npx cairn list --world aws --status failed" : "npx cairn list --world aws";
  return watch(kebab(metric), ofCairn(names, metric), {
    ...ONCE,
    means: `${what} ${crack} (${topology}): ${signal} (${threshold}); by itself a run ${recovery}`,
    todo: `${typed(runs)}, then ${typed("npx cairn diagnose RUN --world aws")} shows the evidence; ${response}`,
  });
}

/** The explanations of the alarms that the engine records as telemetry. */
const WHY: Readonly<Record<keyof typeof ALARMS, (names: Names) => Why>> = {
  Unreadable: (names) => ({
    means:
      "A row is damaged, or a snapshot or a journal cannot be read or verified; its run stands still until they can be read, and every other run continues",
    todo: `${alarms(names, "beat", "Unreadable")} names the run (also in the log of the function sweep); ${typed("npx cairn verify RUN --world aws")} shows what is damaged`,
  }),
  HistoryUnreadable: (names) => ({
    means: "A snapshot before the newest one is lost: the run continues, but its timeline cannot be shown",
    todo: `${alarms(names, "beat", "HistoryUnreadable")} names the run; ${typed("npx cairn verify RUN --world aws")} shows which object; find out which process deletes objects below runs/`,
  }),
  AgentAbsent: (names) => ({
    means: "Runs wait for an agent that the deployed functions do not have, or cannot load",
    todo: `${alarms(names, "beat", "AgentAbsent")} names the agent and the reason; put the agent back into cairn.config.ts and deploy, or end its runs with ${typed("npx cairn cancel RUN --world aws")}`,
  }),
  ModelUnavailable: (names) => ({
    means:
      "Runs wait because the provider of their model does not answer. Each run asks again at least every 15 minutes, and fails when its agent's outageMax is over. A run that waits for a job looks at least every 30 minutes, and gives the job up after 26 hours",
    todo: `${alarms(names, "beat", "ModelUnavailable")} names the run and the provider's last error; ${typed("npx cairn show RUN --world aws")} shows when the run asks again, ${typed("npx cairn resume RUN --world aws")} asks at once, ${typed("npx cairn redrive RUN --world aws")} continues a failed run`,
  }),
  Expiring: (names) => ({
    means:
      "No answer, resume or message has reached a run for 27 days. It fails as Expired three days later, or goes on waiting if its agent sets onIdle",
    todo: `${alarms(names, "beat", "Expiring")} names the run; ${typed("npx cairn show RUN --world aws")} shows what it waits for; answer it, or end it with ${typed("npx cairn cancel RUN --world aws")}`,
  }),
  TitleInvalid: (names) => ({
    means: "The title function of an agent throws or returns no text. Its runs are shown by an excerpt of their input",
    todo: `${alarms(names, "api", "TitleInvalid")} names the agent and the error; mend its title, and deploy again`,
  }),
  ToolGone: (names) => ({
    means: "Runs are blocked because their deployed agent no longer has the tool of an open call",
    todo: `${alarms(names, "beat", "ToolGone")} names the run and the tool; deploy the tool again, or ${typed("npx cairn reconcile RUN CALL --as WHAT --world aws")}`,
  }),
  UpgradeAwaited: (names) => ({
    means: "Runs that are pinned to a version of their agent wait, because another version is deployed",
    todo: `${alarms(names, "beat", "UpgradeAwaited")} names the run and the versions; ${typed("npx cairn resume RUN --upgrade --world aws")} accepts the deployed version`,
  }),
  FiringUncertain: (names) => ({
    means:
      "The process of a schedule's firing died a day ago or more, and neither its run nor its key exists. The run may have run and expired, or it was never started",
    todo: `${alarms(names, "start", "FiringUncertain")} names the agent and the time; start the run by hand if it is missing`,
  }),
  StoreUnavailable: (names) => ({
    means:
      "The table, the bucket or the machine did not answer, and retries failed too. Runs wait and continue by themselves; no run fails because of it",
    todo: `${alarms(names, "beat", "StoreUnavailable")} names the store and its error (also in the log of the function sweep); ${typed("npx cairn doctor --world aws")} shows what is wrong with it; then check the AWS Health Dashboard, and the key and the policies of the store`,
  }),
  SweepFailed: (names) => ({
    means:
      "The sweeper could not check a run, because a store did not answer or the check failed. The next sweep checks the run again; the other runs were swept",
    todo: `${alarms(names, "sweep", "SweepFailed")} names the run and the error`,
  }),
  ClockDoubted: (names) => ({
    means:
      "The sweeper's clock differs from AWS's by seconds or more: data that has expired by only one clock is kept until both agree",
    todo: `${alarms(names, "sweep", "ClockDoubted")} shows by how much; a newly started function has the right time, so deploy again, and ask AWS if the alarm comes back`,
  }),
  StoresDiffer: (names) => ({
    means: "Table and bucket belong to different stores, so cairn deletes no orphans: a setting is wrong",
    todo: `${alarms(names, "sweep", "StoresDiffer")} names both stores; deploy again, and compare CAIRN_TABLE and CAIRN_BUCKET of the functions`,
  }),
  CleanUpFailed: (names) => ({
    means:
      "The objects of a removed run could not be deleted. The deletion is retried, and the daily search for orphans finds them at the latest",
    todo: `${alarms(names, "cleanup", "CleanUpFailed")} names the run and the error`,
  }),
  NotRemoved: (names) => ({
    means:
      "The clean-up received an event for the removal of a row that still exists, and deleted nothing: the event did not come from the table's stream",
    todo: `${alarms(names, "cleanup", "NotRemoved")} names the run; find out what else invokes ${names.functionName("cleanup")}`,
  }),
  SpendCapReached: (names) => ({
    means: "The spend cap of the day is reached: no run calls its model, and new runs are refused, until the next day",
    todo: `${alarms(names, "beat", "SpendCapReached")} names the runs and when the cap resets; ${typed("npx cairn list --world aws")} shows what is under way; raise spend.perDayUsd in cairn.config.ts and deploy, or end runs with ${typed("npx cairn cancel --all --agent AGENT --world aws")}`,
  }),
  WebhookUndelivered: (names) => ({
    means:
      "An endpoint did not accept a notification for days, or refused it for good; cairn does not send it again by itself",
    todo: `${alarms(names, "sweep", "WebhookUndelivered")} names the run, the event and the last reason; mend the endpoint, and send it again what ${typed("npx cairn webhooks list --world aws")} shows, with ${typed("npx cairn webhooks redeliver ENDPOINT --world aws")}`,
  }),
  WebhookFailed: (names) => ({
    means: "A round of notifications failed for a reason of cairn's own, such as a signing key that cannot be read",
    todo: `${alarms(names, "sweep", "WebhookFailed")} names the reason; the next sweep tries again`,
  }),
  OtherAlarm: (names) => ({
    means: "An alarm was recorded that has no metric of its own",
    todo: `${tail(names, "beat", OF_BEAT)}; likewise the logs of the other functions`,
  }),
};

const RECORDED = Object.keys(ALARMS) as readonly (keyof typeof ALARMS)[];

/**
 * The alarm for a sweeper that is down. It reads the sweeper's own record, not the function's invocations, because
 * hand-overs invoke the same function.
 */
function silentSweeper(names: Names, { options }: Plan): Watch {
  const minutes = Math.max(SILENCE_MINUTES_MIN, SWEEPS_MISSED * options.sweepMinutes);
  const periods = Math.ceil((minutes * MINUTES) / PERIOD_SECONDS);
  return watch("sweeper-silent", ofCairn(names, "Sweeps"), {
    ...{ periodSeconds: PERIOD_SECONDS, periods, periodsToAlarm: periods },
    ...{ side: "below", threshold: 1, silence: "alarming" },
    means: `No sweep finished for ${periods * (PERIOD_SECONDS / MINUTES)} minutes: the sweeper is down, and abandoned runs are not recovered. A new deployment is in this alarm until its first sweep`,
    todo: `${typed(`aws scheduler get-schedule --group-name ${names.prefix} --name Sweep`)} shows whether its schedule is enabled, ${log(names, "sweep")} shows its log`,
  });
}

/**
 * Whether errors of the function are expected. The next invocation takes over a failed beat, and the percentage of
 * takeovers is watched. Lambda also counts each route that a beat throws as an error.
 */
export const mayFail = (fn: DeployedFunction): boolean => kindOf(fn) === "beat";

function ofFunctions(names: Names, plan: Plan): readonly Watch[] {
  const functions = functionsOf(plan);
  const throttled: Why = {
    means:
      "Lambda throttled invocations of this function for 15 minutes. Runs wait, and none is lost; a schedule's firing is lost after six hours",
    todo: `${typed("aws lambda get-account-settings")} shows the concurrency of the account (10 in new accounts): ask for more, or change deploy.concurrencyMax in cairn.config.ts`,
  };
  const failing = (fn: DeployedFunction): Why => ({
    means:
      "Invocations of this function ended with an error, in two of three periods of 5 minutes (for the function start, once). The caller retries a few times",
    todo: `${tail(names, fn, ERRORS)}; ${tail(names, fn, DIED)}`,
  });
  return [
    ...functions.map((fn) =>
      watch(`${fn}-throttled`, ofFunction(names, fn, ["Throttles", "Sum"]), { ...LASTING, ...throttled }),
    ),
    ...functions
      .filter((fn) => !mayFail(fn))
      .map((fn) =>
        watch(`${fn}-errors`, ofFunction(names, fn, ["Errors", "Sum"]), {
          // The caller of `start` retries for a few minutes only, so a single error matters.
          ...(fn === "start" ? ONCE : REPEATED),
          ...failing(fn),
        }),
      ),
  ];
}

function ofStores(names: Names): readonly Watch[] {
  const why: Why = {
    means:
      "DynamoDB throttled reads or writes for 15 minutes: the load grew faster than the table scales, or one key of an index had too much load",
    todo: "It usually ends within half an hour. If not, the status of one tenant is a hot key in the index byStatus: raise `deploy.statusShards` (docs/upgrades.md), start runs more slowly, or under several tenants",
  };
  const named = [
    ["table-reads-throttled", ofTable(names, "ReadThrottleEvents")],
    ["table-writes-throttled", ofTable(names, "WriteThrottleEvents")],
    ...TABLE.indexes.map(
      ({ name }) => [`${kebab(name)}-writes-throttled`, ofIndex(names, name, "WriteThrottleEvents")] as const,
    ),
  ] as const;
  return named.map(([name, series]) => watch(name, series, { ...LASTING, ...why }));
}

function ofExecutions(names: Names): readonly Watch[] {
  const list = (status: string) =>
    typed(`aws stepfunctions list-executions --state-machine-arn ${names.machineArn} --status-filter ${status}`);
  const ended: Why = {
    means:
      "An execution ended in a way that cairn does not use (even a failed run ends its execution with success): an operator stopped it, its history was full, or the machine has a bug. The sweeper hands its run over to a new execution",
    todo: `${list("FAILED")} (or TIMED_OUT, ABORTED), then ${typed("aws stepfunctions get-execution-history --reverse-order --max-items 5 --execution-arn ARN")}`,
  };
  return [
    watch("executions-failed", ofMachine(names, "ExecutionsFailed"), { ...ONCE, ...ended }),
    watch("executions-timed-out", ofMachine(names, "ExecutionsTimedOut"), { ...ONCE, ...ended }),
    watch("executions-aborted", ofMachine(names, "ExecutionsAborted"), { ...ONCE, ...ended }),
    watch("executions-throttled", ofMachine(names, "ExecutionThrottled"), {
      ...LASTING,
      means: "Step Functions delayed state transitions for 15 minutes: runs are slower, none is lost",
      todo: "Ask for a higher quota of StateTransition in Service Quotas, or set beatsPerInvocation in cairn.config.ts: fewer transitions for the same beats",
    }),
  ];
}

function ofEvents(names: Names): readonly Watch[] {
  const letters = (of: "stream" | "schedule") =>
    typed(
      `aws sqs receive-message --queue-url $(aws sqs get-queue-url --queue-name ${names.lettersName(of)} --query QueueUrl --output text)`,
    );
  return [
    watch("stream-letters", ofLetters(names, "stream"), {
      ...ONCE,
      means:
        "The clean-up of a removed run failed too often and was given up; the daily search for orphans deletes its objects",
      todo: `${letters("stream")} shows which part of the stream, and ${log(names, "cleanup")} shows why; then delete the dead letter`,
    }),
    watch("schedule-letters", ofLetters(names, "schedule"), {
      ...ONCE,
      means:
        "A sweep or the firing of an agent's schedule could not be delivered, or failed three times; the next sweep comes anyway, but that firing is lost",
      todo: `${letters("schedule")} shows its input (under requestPayload, if it failed); to fire it now: ${typed(`aws lambda invoke --function-name ${names.functionName("start")} --cli-binary-format raw-in-base64-out --payload INPUT /dev/stdout`)}; then delete the dead letter`,
    }),
    watch("stream-behind", ofFunction(names, "cleanup", ["IteratorAge", "Maximum"]), {
      ...{ ...ONCE, threshold: STREAM_AGE_MS },
      means:
        "The objects of removed runs wait for deletion for more than an hour; after 24 hours the stream drops their events",
      todo: `${typed(`aws lambda list-event-source-mappings --function-name ${names.functionName("cleanup")}`)} shows whether it is enabled, ${log(names, "cleanup")} shows its log`,
    }),
  ];
}
