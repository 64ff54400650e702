/**
 * The chain of `src/protocol/chain.ts` as a Step Functions Standard machine (Amazon States Language, JSONPath). Its states
 * have the names of the chain's, and which state follows which route is read from there.
 *
 * A beat is one state transition: Beat follows Beat. Every other route is an error that the function throws, and that is
 * caught by its name (`machine-input.ts`). What is left is a failure. The execution's name and the retry count come from
 * the context object at each attempt, so a retry of an entry is told from a new entry (schedule 1).
 *
 * A failure of Beat is caught, and not retried by Step Functions, since a retrier hides which error it was. The machine
 * counts the tries itself, by groups (`entry.ts`), keeps what is known of a death, pauses, and enters Beat again with a
 * number that no attempt of this entry had before (schedule 24).
 *
 * An execution calls one published version of the function of beats; its first beat, and the first one after it was
 * parked, call the alias `live`. So a deployment changes no run between two beats.
 *
 * Where agents are isolated, Beat calls the function of the run's agent. If that function, or the version of it, is not
 * there, no process was started: Shared does the beat, in the function that has all agents of the deployment. So a run whose
 * agent was removed waits for it, and one whose agent has no function yet goes on. Every beat after it tries Beat first.
 */
import { INTRINSIC_CHANGED } from "../../../core/changed-intrinsic.ts";
import { INPUT_MARK, LIVE, routeErrorName } from "./machine-input.ts";
import { TIMES } from "../../../protocol/limits.ts";
import { AFTER_BEAT, type ChainState, RETRY_DELAYS_MS } from "../../../protocol/chain.ts";
import { RETRY_GROUP } from "../../../protocol/entry.ts";
import type {
  Catcher,
  ChoiceComparison,
  MachineDefinition,
  Failing,
  Informed,
  MachineState,
  PassState,
  Retrier,
  Rule,
  StateName,
  Template,
} from "./asl-states.ts";

export interface MachineOptions extends MachineTimes {
  /** Names or ARNs of the functions. */
  readonly functions: {
    readonly beat: string;
    readonly park: string;
    readonly sweep: string;
    /** That of each agent where agents are isolated, with `{}` in the place of the agent's name. */
    readonly agents?: string;
  };
}

export interface MachineTimes {
  /** How long Lambda lets each of them live. */
  readonly beatSeconds: number;
  readonly sweepSeconds: number;
  /** How long a run whose beats keep failing is left alone before it is handed over. */
  readonly rescueSeconds: number;
  /** Tries of one entry of Beat before that: `RETRY_GROUP` for each failure. */
  readonly triesMax: number;
  /** A pause between two attempts is drawn between so many seconds, at most, and twice as many. */
  readonly backoffSeconds: number;
}

/** A task outlasts its function: or a function that still works would be taken for dead. */
export const TASK_MARGIN_SECONDS = 30;

export function definitionOf(options: MachineOptions): MachineDefinition {
  return {
    Comment: "One run of cairn: beat after beat until it has ended, or moves on to its next execution.",
    QueryLanguage: "JSONPath",
    StartAt: "Beat",
    States: { ...routesOf(options), ...failuresOf(options) },
  };
}

/** A beat of the run's own agent, where agents are isolated; otherwise of whichever agent it is. */
function beatsOf(options: MachineOptions): Pick<MachineDefinition["States"], "Beat" | "Shared"> {
  const { functions, beatSeconds } = options;
  const payload = payloadOf(options);
  const task = {
    Type: "Task" as const,
    Resource: INVOKE,
    TimeoutSeconds: beatSeconds + TASK_MARGIN_SECONDS,
    OutputPath: "$.Payload",
    Retry: [TURNED_AWAY],
    Catch: BEAT_CATCH,
    Next: "Beat" as const,
  };
  const beat = { kind: "beat", payload, attempt: ATTEMPT };
  const byVersion = { "Qualifier.$": "$.code", Payload: beat };
  if (functions.agents === undefined)
    return { Beat: { ...task, Parameters: { FunctionName: functions.beat, ...byVersion } } };
  const called = `States.Format('${functions.agents}', $.agent)`;
  return {
    Beat: { ...task, Parameters: { "FunctionName.$": called, ...byVersion }, Catch: [NOT_THERE, ...BEAT_CATCH] },
    Shared: {
      ...task,
      Parameters: {
        FunctionName: functions.beat,
        Qualifier: LIVE,
        Payload: { ...beat, attempt: SHARED_ATTEMPT, shared: true },
      },
    },
  };
}

type States<Names extends StateName> = { readonly [S in Names]: MachineState };

/** A beat, and where its routes lead. */
function routesOf(options: MachineOptions): States<Exclude<StateName, Failing | "Shared">> {
  const { functions } = options;
  const payload = payloadOf(options);
  return {
    ...beatsOf(options),
    ReadWait: reading("Wait"),
    Wait: { Type: "Wait", SecondsPath: "$.seconds", Next: "Beat" },
    ReadPark: reading("Park"),
    Park: {
      Type: "Task",
      Resource: `${INVOKE}.waitForTaskToken`,
      Parameters: {
        FunctionName: functions.park,
        Payload: { kind: "park", payload, attempt: PARK_ATTEMPT, "token.$": "$$.Task.Token" },
      },
      TimeoutSecondsPath: "$.seconds",
      ResultPath: null,
      // That its time is over is no failure: it leads to the next beat when nothing woke it.
      Retry: [{ ErrorEquals: ["States.Timeout"], MaxAttempts: 0 }, ...RETRY],
      Catch: [{ ErrorEquals: ["States.Timeout"], ResultPath: null, Next: "Beat" }, ...CATCH],
      Next: "Beat",
    },
    ReadRenew: reading("Renew"),
    Renew: { ...sweepTask(options, { kind: "renew", payload }), ResultPath: null, Next: "End" },
    End: { Type: "Succeed" },
  };
}

/** What follows a beat that failed, and a task that failed as often as it may. */
function failuresOf(options: MachineOptions): States<Failing> {
  const { rescueSeconds, triesMax, backoffSeconds } = options;
  const payload = payloadOf(options);
  return {
    Unanswered: counting(payload, { died: "$.died" }),
    Changed: counting(payload, { died: "$.died", changed: MARKED }),
    Died: counting(payload, { died: "$.tries" }),
    Again: {
      Type: "Choice",
      Choices: [
        where({ Variable: "$.tries", NumericGreaterThanEquals: triesMax }, "Backoff"),
        where({ Variable: "$.backoff", NumericGreaterThan: backoffSeconds }, "Cap"),
      ],
      Default: "Pause",
    },
    Cap: { Type: "Pass", Result: backoffSeconds, ResultPath: "$.backoff", Next: "Pause" },
    Pause: { Type: "Wait", SecondsPath: "$.seconds", Next: "Beat" },
    Backoff: { Type: "Wait", Seconds: rescueSeconds, Next: "Rescue" },
    Rescue: {
      ...sweepTask(options, { kind: "rescue", payload, dead: DEAD }),
      ResultSelector: { "route.$": "$.Payload.route", "seconds.$": "$.Payload.seconds" },
      ResultPath: "$.rescue",
      Next: "Rescued",
    },
    Rescued: {
      Type: "Choice",
      Choices: [where({ Variable: "$.rescue.route", StringEquals: "wait" }, "Hold")],
      Default: "End",
    },
    Hold: { Type: "Wait", SecondsPath: "$.rescue.seconds", Next: "Rescue" },
  };
}

const sweepTask = ({ functions, sweepSeconds }: MachineOptions, Payload: Template) => ({
  Type: "Task" as const,
  Resource: INVOKE,
  Parameters: { FunctionName: functions.sweep, Payload },
  TimeoutSeconds: sweepSeconds + TASK_MARGIN_SECONDS,
  Retry: RETRY,
  Catch: CATCH,
});

const where = (comparison: ChoiceComparison, Next: StateName): Rule => ({
  And: [{ Variable: comparison.Variable, IsPresent: true }, comparison],
  Next,
});

const INVOKE = "arn:aws:states:::lambda:invoke";

/** Only a machine that calls functions by agents reads the agent: an execution that began without one goes on elsewhere. */
const payloadOf = ({ functions }: Pick<MachineOptions, "functions">): Template =>
  functions.agents === undefined ? PAYLOAD : { ...PAYLOAD, "agent.$": "$.agent" };

const PAYLOAD: Template = { "run.$": "$.run", "born.$": "$.born", "chain.$": "$.chain", "epoch.$": "$.epoch" };

const ENTRY: Template = { "execution.$": "$$.Execution.Name", "epoch.$": "$.epoch" };

/** Within a group of tries the retries count that Step Functions makes by itself. */
const ATTEMPT: Template = {
  ...ENTRY,
  "retry.$": "States.MathAdd($.tries, $$.State.RetryCount)",
  "died.$": "$.died",
  "changed.$": "$.changed",
};

/**
 * Schedule 24: an attempt of Beat claims the run and its answer is lost; then the function is removed, and the next attempt
 * finds none. Shared counts its retries from half a group on, above those of Beat, or its claim would be refused.
 */
const SHARED_ATTEMPT: Template = {
  ...ATTEMPT,
  "retry.$": `States.MathAdd(States.MathAdd($.tries, ${RETRY_GROUP / 2}), $$.State.RetryCount)`,
};

const PARK_ATTEMPT: Template = { ...ENTRY, "retry.$": "$$.State.RetryCount", died: null };

/** Its retry is null where no process is known to have died. */
const DEAD: Template = { ...ENTRY, "retry.$": "$.died" };

/** What a beat that throws says, in the words of Lambda, which are JSON. */
const CAUSE = "$.caught.Cause";

/** What a beat says to the machine lies in the cause between two marks. */
const MARKED = `States.StringToJson(States.Base64Decode(States.ArrayGetItem(States.StringSplit(${CAUSE}, '${INPUT_MARK}'), 1)))`;

/** The input of a state. */
const reading = (Next: Informed): PassState => ({
  Type: "Pass",
  Parameters: {
    "input.$": MARKED,
  },
  OutputPath: "$.input",
  Next,
});

/** A failed try is counted. The pause after it is drawn between the backoff and twice the backoff, which is the next one. */
const counting = (
  payload: Template,
  { died, changed = "$.changed" }: { readonly died: string; readonly changed?: string },
): PassState => ({
  Type: "Pass",
  Parameters: {
    ...payload,
    "code.$": "$.code",
    "tries.$": `States.MathAdd($.tries, ${RETRY_GROUP})`,
    "died.$": died,
    "changed.$": changed,
    "seconds.$": "States.MathRandom($.backoff, States.MathAdd($.backoff, $.backoff))",
    "backoff.$": "States.MathAdd($.backoff, $.backoff)",
  },
  Next: "Again",
});

/**
 * Lambda turned the call away, or its answer was lost: no evidence of a death. Whole names: `Lambda.*` would match nothing.
 */
const TURNED_AWAY_ERRORS = [
  "Lambda.TooManyRequestsException",
  "Lambda.EC2ThrottledException",
  "Lambda.ServiceException",
  "Lambda.AWSLambdaException",
  "Lambda.SdkClientException",
  "Lambda.ClientExecutionTimeoutException",
];

/** A beat that met a store that does not answer throws one of them. Its process lives, and may serve the next beat. */
const UNANSWERED_ERRORS = ["StoreUnreachable", "Undecided", ...TURNED_AWAY_ERRORS];

const TURNED_AWAY: Retrier = {
  ErrorEquals: TURNED_AWAY_ERRORS,
  IntervalSeconds: 1,
  BackoffRate: 2,
  MaxAttempts: 100,
  MaxDelaySeconds: TIMES.waitSecondsMax,
  JitterStrategy: "FULL",
};

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

/** Of every task but a beat. */
const RETRY: readonly Retrier[] = [TURNED_AWAY, AGAIN];

/** Schedule 38. */
const CATCH: readonly Catcher[] = [{ ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Backoff" }];

const routeCatcher = (state: ChainState): Catcher => {
  const ErrorEquals = [routeErrorName(state)];
  if (state === "End") return { ErrorEquals, ResultPath: null, Next: "End" };
  return { ErrorEquals, ResultPath: "$.caught", Next: `Read${state as Informed}` };
};

/** The function of the agent, or that version of it. No process was started, so it is no death. */
const NOT_THERE: Catcher = { ErrorEquals: ["Lambda.ResourceNotFoundException"], ResultPath: null, Next: "Shared" };

const THROWN_STATES = [...new Set(Object.values(AFTER_BEAT))].filter((state) => state !== "Beat");

const BEAT_CATCH: readonly Catcher[] = [
  ...THROWN_STATES.map(routeCatcher),
  { ErrorEquals: UNANSWERED_ERRORS, ResultPath: null, Next: "Unanswered" },
  // Schedule 227: the process was spent, and did not die.
  { ErrorEquals: [INTRINSIC_CHANGED], ResultPath: "$.caught", Next: "Changed" },
  { ErrorEquals: ["States.ALL"], ResultPath: null, Next: "Died" },
];
