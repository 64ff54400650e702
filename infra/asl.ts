/**
 * The chain of `src/protocol/chain.ts` as a Step Functions Standard machine (Amazon States Language, JSONPath). Its states
 * have the names of the chain's, and which state follows which route is read from there.
 *
 * What goes from state to state is the payload and nothing else. The execution's name and the retry count come from the
 * context object at each attempt, so a retry of an entry is told from a new entry (schedule 1), and the epoch in the
 * payload is the one that the previous beat left.
 */
import { TIMES } from "../src/protocol/limits.ts";
import { AFTER_BEAT, type ChainState, RETRY_DELAYS_MS, type Route } from "../src/protocol/chain.ts";

export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds?: number;
  readonly BackoffRate?: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds?: number;
  readonly JitterStrategy?: "FULL";
}

export interface Catcher {
  readonly ErrorEquals: readonly string[];
  readonly ResultPath: null;
  readonly Next: StateName;
}

export interface TaskState {
  readonly Type: "Task";
  readonly Resource: string;
  readonly Parameters: { readonly FunctionName: string; readonly Payload: Template };
  readonly TimeoutSeconds?: number;
  readonly TimeoutSecondsPath?: string;
  readonly ResultSelector?: Template;
  readonly ResultPath?: string | null;
  readonly OutputPath?: string;
  readonly Retry: readonly Retrier[];
  readonly Catch: readonly Catcher[];
  readonly Next: StateName;
}

export interface ChoiceState {
  readonly Type: "Choice";
  readonly Choices: readonly { readonly Variable: string; readonly StringEquals: string; readonly Next: StateName }[];
  readonly Default: StateName;
}

export type WaitState = { readonly Type: "Wait"; readonly Next: StateName } & (
  | { readonly Seconds: number }
  | { readonly SecondsPath: string }
);

export type MachineState = TaskState | ChoiceState | WaitState | { readonly Type: "Succeed" };

/** Besides those of the chain: the choices after a beat and after a rescue, and the wait for an owner's lease. */
export type StateName = ChainState | "Route" | "Rescued" | "Hold";

export interface Definition {
  readonly Comment: string;
  readonly QueryLanguage: "JSONPath";
  readonly StartAt: StateName;
  readonly States: { readonly [S in StateName]: MachineState };
}

type Template = { readonly [field: string]: string | Template };

export interface MachineOptions {
  /** Names or ARNs of the functions. */
  readonly functions: { readonly beat: string; readonly park: string; readonly sweep: string };
  /** How long Lambda lets each of them live. */
  readonly beatSeconds: number;
  readonly sweepSeconds: number;
  /** How long a run whose beats keep dying is left alone before it is handed over. */
  readonly rescueSeconds: number;
}

/** A task outlasts its function: or a function that still works would be taken for dead. */
export const TASK_MARGIN_SECONDS = 30;

export function definitionOf(options: MachineOptions): Definition {
  const { functions, beatSeconds, sweepSeconds, rescueSeconds } = options;
  const sweepTask = (kind: "renew" | "rescue") => ({
    Type: "Task" as const,
    Resource: INVOKE,
    Parameters: { FunctionName: functions.sweep, Payload: { kind, payload: PAYLOAD } },
    TimeoutSeconds: sweepSeconds + TASK_MARGIN_SECONDS,
    Retry: RETRY,
    Catch: CATCH,
  });
  return {
    Comment: "One run of cairn: beat after beat until it has ended, or moves on to its next execution.",
    QueryLanguage: "JSONPath",
    StartAt: "Beat",
    States: {
      Beat: {
        Type: "Task",
        Resource: INVOKE,
        Parameters: { FunctionName: functions.beat, Payload: { kind: "beat", payload: PAYLOAD, attempt: ATTEMPT } },
        TimeoutSeconds: beatSeconds + TASK_MARGIN_SECONDS,
        OutputPath: "$.Payload",
        Retry: RETRY,
        Catch: CATCH,
        Next: "Route",
      },
      Route: { Type: "Choice", Choices: ROUTES.map(branchOf), Default: "Backoff" },
      Wait: { Type: "Wait", SecondsPath: "$.seconds", Next: "Beat" },
      Park: {
        Type: "Task",
        Resource: `${INVOKE}.waitForTaskToken`,
        Parameters: {
          FunctionName: functions.park,
          Payload: { kind: "park", payload: PAYLOAD, attempt: ATTEMPT, "token.$": "$$.Task.Token" },
        },
        TimeoutSecondsPath: "$.seconds",
        ResultPath: null,
        // That its time is over is no failure: it is what leads to the next beat when nobody woke it.
        Retry: [{ ErrorEquals: ["States.Timeout"], MaxAttempts: 0 }, ...RETRY],
        Catch: [{ ErrorEquals: ["States.Timeout"], ResultPath: null, Next: "Beat" }, ...CATCH],
        Next: "Beat",
      },
      Renew: { ...sweepTask("renew"), ResultPath: null, Next: "End" },
      Backoff: { Type: "Wait", Seconds: rescueSeconds, Next: "Rescue" },
      Rescue: {
        ...sweepTask("rescue"),
        ResultSelector: { "route.$": "$.Payload.route", "seconds.$": "$.Payload.seconds" },
        ResultPath: "$.rescue",
        Next: "Rescued",
      },
      Rescued: {
        Type: "Choice",
        Choices: [{ Variable: "$.rescue.route", StringEquals: "wait", Next: "Hold" }],
        Default: "End",
      },
      Hold: { Type: "Wait", SecondsPath: "$.rescue.seconds", Next: "Rescue" },
      End: { Type: "Succeed" },
    },
  };
}

const INVOKE = "arn:aws:states:::lambda:invoke";

const PAYLOAD: Template = { "run.$": "$.run", "born.$": "$.born", "chain.$": "$.chain", "epoch.$": "$.epoch" };

const ATTEMPT: Template = {
  "execution.$": "$$.Execution.Name",
  "epoch.$": "$.epoch",
  "retry.$": "$$.State.RetryCount",
};

const ROUTES = Object.keys(AFTER_BEAT) as readonly Route[];

const branchOf = (route: Route) => ({ Variable: "$.route", StringEquals: route, Next: AFTER_BEAT[route] });

/** Lambda turned the call away, or never answered it. Whole names: `Lambda.*` would match nothing. */
const TURNED_AWAY = [
  "Lambda.TooManyRequestsException",
  "Lambda.EC2ThrottledException",
  "Lambda.ServiceException",
  "Lambda.AWSLambdaException",
  "Lambda.SdkClientException",
  "Lambda.ClientExecutionTimeoutException",
];

const [FIRST_MS = 0] = RETRY_DELAYS_MS;
const LAST_MS = RETRY_DELAYS_MS.at(-1) ?? 0;
/** Step Functions waits whole seconds, and at least one, before the first retry. */
const INTERVAL_SECONDS = Math.max(1, Math.round(FIRST_MS / 1_000));

/** As often as the chain says, from its first delay to its last one as near as one rate can. */
const AGAIN: Retrier = {
  ErrorEquals: ["States.ALL"],
  IntervalSeconds: INTERVAL_SECONDS,
  BackoffRate: Math.round(100 * (LAST_MS / 1_000 / INTERVAL_SECONDS) ** (1 / (RETRY_DELAYS_MS.length - 1))) / 100,
  MaxAttempts: RETRY_DELAYS_MS.length,
};

const RETRY: readonly Retrier[] = [
  {
    ErrorEquals: TURNED_AWAY,
    IntervalSeconds: 1,
    BackoffRate: 2,
    MaxAttempts: 100,
    MaxDelaySeconds: TIMES.waitSecondsMax,
    JitterStrategy: "FULL",
  },
  AGAIN,
];

/** Schedules 24 and 38: never back into Beat, where the stale epoch would be refused by its own dead attempt. */
const CATCH: readonly Catcher[] = [{ ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Backoff" }];
