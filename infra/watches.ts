/**
 * The watches of a deployment: each alarm, what it means and what to do about it. This table generates the alarms,
 * their descriptions and the operators' page (`docs/operations.md`).
 *
 * Most of these metrics have no data while everything works, so missing data is fine. The exception is the sweeper's
 * metric.
 */
import { ALARMS } from "../src/adapters/aws/metrics.ts";
import { TABLE } from "../src/adapters/aws/schema.ts";
import { CRACKS } from "../src/core/topologies/cracks.ts";
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
      "A run failed since more of its processes died than it may cost: its agent ends or hangs them, or Lambda does",
    todo: `${typed("npx cairn list --world aws --status failed")}, then ${typed("npx cairn timeline RUN --world aws")}; what the processes said last: ${tail(names, "beat", DIED)}`,
  };
  return [
    watch("runs-blocked", ofCairn(names, "RunsBlocked"), {
      ...ONCE,
      means: "A run does not know what became of a call that must not be repeated, and waits for a person",
      todo: `${typed("npx cairn list --world aws --status blocked")}, then ${typed("npx cairn show RUN --world aws")} says which call, and what to type to answer`,
    }),
    ...Object.values(CRACKS)
      .flat()
      .map(({ crack, code, signal, recovery }) =>
        watch(kebab(code), ofCairn(names, code), {
          ...ONCE,
          means: `A run ended by its topology's crack ${crack}: ${signal}; what it did is done, and what it cost is paid for`,
          todo: `${typed("npx cairn list --world aws --status failed")}, then ${typed("npx cairn timeline RUN --world aws")} shows the calls; by itself a run ${recovery}`,
        }),
      ),
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
      means: `More than ${TAKEOVERS_PERCENT_MAX} % of an hour's beats (${BEATS_MIN} at least) began with a dead owner: memory or time is short, or an agent ends its process; nothing is lost, and all of it is paid for twice`,
      todo: `${tail(names, "beat", DIED)}; raise deploy.memoryMb or beatSeconds in cairn.config.ts and deploy`,
    },
  ];
}

/** The explanations of the alarms that the engine records as telemetry. */
const WHY: Readonly<Record<keyof typeof ALARMS, (names: Names) => Why>> = {
  Unreadable: (names) => ({
    means:
      "A row is damaged, or a snapshot or a journal cannot be read or verified; its run is left as it is until it can be, and every other run goes on",
    todo: `${alarms(names, "beat", "Unreadable")} names the run (also in the log of the function sweep); ${typed("npx cairn verify RUN --world aws")} says what is damaged`,
  }),
  HistoryUnreadable: (names) => ({
    means: "A snapshot before the newest one is lost: the run goes on, and its timeline cannot be shown",
    todo: `${alarms(names, "beat", "HistoryUnreadable")} names the run; ${typed("npx cairn verify RUN --world aws")} says which object; find out who deletes below runs/`,
  }),
  AgentAbsent: (names) => ({
    means: "Runs wait for an agent that the deployed functions do not have, or cannot load",
    todo: `${alarms(names, "beat", "AgentAbsent")} names agent and reason; put it back into cairn.config.ts and deploy, or ${typed("npx cairn cancel RUN --world aws")}`,
  }),
  ModelUnavailable: (names) => ({
    means:
      "Runs wait for the provider of their model, which gives no answers: each asks again by itself, after a quarter of an hour at most, and fails when its agent's outageMax is over",
    todo: `${alarms(names, "beat", "ModelUnavailable")} names the run and what the provider said last; ${typed("npx cairn show RUN --world aws")} says when it asks again, ${typed("npx cairn resume RUN --world aws")} asks at once, ${typed("npx cairn redrive RUN --world aws")} continues one that failed`,
  }),
  ToolGone: (names) => ({
    means: "Runs are blocked since a deployed agent has no tool any more of which a call is open",
    todo: `${alarms(names, "beat", "ToolGone")} names run and tool; deploy the tool again, or ${typed("npx cairn reconcile RUN CALL --as WHAT --world aws")}`,
  }),
  UpgradeAwaited: (names) => ({
    means: "Runs that are pinned to the version of their agent wait, since another one is deployed",
    todo: `${alarms(names, "beat", "UpgradeAwaited")} names run and versions; ${typed("npx cairn resume RUN --upgrade --world aws")} lets it go on`,
  }),
  FiringUncertain: (names) => ({
    means:
      "A firing of a schedule died a day ago or more, and neither its run nor its key is there: it may have been started and forgotten",
    todo: `${alarms(names, "start", "FiringUncertain")} names agent and time; start the run by hand if it is missed`,
  }),
  StoreUnavailable: (names) => ({
    means:
      "Table, bucket or machine did not answer, even when asked again: runs wait and go on by themselves, and none fails for it",
    todo: `${alarms(names, "beat", "StoreUnavailable")} names the store and its error (also in the log of the function sweep); ${typed("npx cairn doctor --world aws")} says what is wrong with it; then look at the AWS Health Dashboard, and at the key and the policies of the store`,
  }),
  SweepFailed: (names) => ({
    means:
      "The sweeper could not judge a run, since a store did not answer for it or its judgement failed; it went on to the others, and looks at this one again with the next sweep",
    todo: `${alarms(names, "sweep", "SweepFailed")} names the run and the error`,
  }),
  ClockDoubted: (names) => ({
    means:
      "The sweeper's clock differs from AWS's by seconds or more: what has expired by only one of them stays until both agree",
    todo: `${alarms(names, "sweep", "ClockDoubted")} says by how much; a function that AWS starts anew has the right time, so deploy again, and ask AWS if it comes back`,
  }),
  StoresDiffer: (names) => ({
    means: "Table and bucket say that they belong to different stores, so no orphan is deleted: a setting is wrong",
    todo: `${alarms(names, "sweep", "StoresDiffer")} names both; deploy again, and compare CAIRN_TABLE and CAIRN_BUCKET of the functions`,
  }),
  CleanUpFailed: (names) => ({
    means:
      "What a removed run left behind could not be deleted; it is tried again, and found by the look for orphans at the latest",
    todo: `${alarms(names, "cleanup", "CleanUpFailed")} names the run and the error`,
  }),
  NotRemoved: (names) => ({
    means:
      "The clean-up was told of the removal of a row that is still there, and deleted nothing: something else sends it events",
    todo: `${alarms(names, "cleanup", "NotRemoved")} names the run; look who invokes ${names.functionName("cleanup")}`,
  }),
  OtherAlarm: (names) => ({
    means: "Something was recorded as an alarm that has no metric of its own",
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
    means: `No sweep came to its end for ${periods * (PERIOD_SECONDS / MINUTES)} minutes: runs that nobody drives stay where they are. A new deployment shows it until its first sweep`,
    todo: `${typed(`aws scheduler get-schedule --group-name ${names.prefix} --name Sweep`)} says whether it is enabled, ${log(names, "sweep")} what it says`,
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
      "Lambda turned invocations of this function away for 15 minutes: runs wait, none is lost; the firing of a schedule that waits for six hours is",
    todo: `${typed("aws lambda get-account-settings")} shows the concurrency of the account (10 in new ones): ask for more, or change deploy.concurrencyMax in cairn.config.ts`,
  };
  const failing = (fn: DeployedFunction): Why => ({
    means:
      "Invocations of this function ended with an error, in two of three periods of 5 minutes or, where an agent is started, once; whoever calls it tries again, some times",
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
      "DynamoDB turned reads or writes away for 15 minutes: more at once than a table takes that grows with its load, or than one key of an index",
    todo: "It usually passes within half an hour; a key that stays hot is a tenant's status in byStatus: start runs more slowly, or under several tenants",
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
      "An execution did not end as cairn ends them (a run that failed ends its execution well): somebody stopped it, its history was full, or the machine has a mistake; the sweeper hands its run over",
    todo: `${list("FAILED")} (or TIMED_OUT, ABORTED), then ${typed("aws stepfunctions get-execution-history --reverse-order --max-items 5 --execution-arn ARN")}`,
  };
  return [
    watch("executions-failed", ofMachine(names, "ExecutionsFailed"), { ...ONCE, ...ended }),
    watch("executions-timed-out", ofMachine(names, "ExecutionsTimedOut"), { ...ONCE, ...ended }),
    watch("executions-aborted", ofMachine(names, "ExecutionsAborted"), { ...ONCE, ...ended }),
    watch("executions-throttled", ofMachine(names, "ExecutionThrottled"), {
      ...LASTING,
      means: "Step Functions delayed state transitions for 15 minutes: runs are slower, none is lost",
      todo: "Ask for a higher quota of StateTransition in Service Quotas, or set deploy.beatsPerInvocation in cairn.config.ts: fewer transitions for the same beats",
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
        "The removal of a run was given up after its tries; the daily look for orphans deletes what it left behind",
      todo: `${letters("stream")} shows which part of the stream, and ${log(names, "cleanup")} why; then delete the letter`,
    }),
    watch("schedule-letters", ofLetters(names, "schedule"), {
      ...ONCE,
      means:
        "A sweep or the firing of an agent's schedule could not be delivered, or failed three times; the next sweep comes anyway, that firing does not",
      todo: `${letters("schedule")} shows its input (of one that failed, under requestPayload); to fire it after all: ${typed(`aws lambda invoke --function-name ${names.functionName("start")} --cli-binary-format raw-in-base64-out --payload INPUT /dev/stdout`)}; then delete the letter`,
    }),
    watch("stream-behind", ofFunction(names, "cleanup", ["IteratorAge", "Maximum"]), {
      ...{ ...ONCE, threshold: STREAM_AGE_MS },
      means: "Removed runs wait for more than an hour to be cleaned up after; after 24 hours the stream forgets them",
      todo: `${typed(`aws lambda list-event-source-mappings --function-name ${names.functionName("cleanup")}`)} shows whether it is enabled, ${log(names, "cleanup")} what it says`,
    }),
  ];
}
