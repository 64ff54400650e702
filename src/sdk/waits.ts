/**
 * Tools whose calls wait: for a human's answer, for a time, or for an event. While a call waits, its run has no process
 * and costs nothing. The wait survives crashes and restarts of the machine.
 */
import { DEFINITIONS } from "./definition-forms.ts";
import { checkDefined } from "./option-forms.ts";
import * as z from "zod";
import { asJson } from "../codec/value.ts";
import { fit } from "../codec/fit.ts";
import { SIZES } from "../codec/limits.ts";
import { isEventName } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { Tool, WaitRule } from "../ports/agent.ts";
import { durationMs } from "./duration.ts";
import { rulesOf } from "./tool-rules.ts";

/** How long a call waits, and what follows then. */
export interface WaitLimit<Answer> {
  /** Milliseconds, or `90s`, `30m`, `2h`, `7d`. Default: as long as a run may wait (30 days), then the run fails. */
  readonly timeLimit?: number | string;
  /**
   * `tell` (default): the call fails, and the model is told that nothing came. `fail`: the run fails. `take`: this value
   * is the result.
   */
  readonly atLimit?: "tell" | "fail" | { readonly take: Answer };
}

const QUESTION = z.object({
  question: z.string().min(1).describe("The whole question, with all that is needed to answer it."),
});

export interface AskHumanOptions<Answer extends z.ZodType, Schema extends z.ZodType> extends WaitLimit<
  z.input<Answer>
> {
  /** The schema of the answer. One that does not fit is refused, and the question stays open. */
  readonly answer: Answer;
  /** What the model reads about the tool. */
  readonly description?: string;
  /** The arguments of the call, which the human sees. Default: `{ question }`. */
  readonly input?: Schema;
}

/**
 * Defines a tool that asks a human. The call waits until a human answers: `cairn answer RUN CALL --result JSON`, the
 * HTTP API, or the client. The answer is the result of the call.
 *
 * ```ts
 * tools: {
 *   askAccountant: askHuman({
 *     description: "Asks the accountant which account an invoice belongs to.",
 *     answer: z.object({ account: z.string().regex(/^[0-9]{4}$/) }),
 *     timeLimit: "2d",
 *   }),
 * }
 * ```
 *
 * @throws AgentInvalid with the first problem
 */
export function askHuman<Answer extends z.ZodType, Schema extends z.ZodType = typeof QUESTION>(
  options: AskHumanOptions<Answer, Schema>,
): Tool<Schema> {
  checkDefined("askHuman", options, DEFINITIONS.askHuman);
  const { answer, description = "Asks a human a question, and waits for the answer.", input = QUESTION } = options;
  const what = "askHuman";
  if (typeof (answer as Partial<Answer> | undefined)?.safeParse !== "function") {
    throw new AgentInvalid(`${what} has no schema for its answer: write answer: z.object({ ... })`);
  }
  return waitingTool({
    description,
    input: input as Schema,
    wait: { for: "answer", accepts: answer, ...limitOf(what, options, answer) },
  });
}

const SLEEP_MS_MAX = 29 * 86_400_000;

/** `max`: the longest sleep, in milliseconds or as `90s`, `30m`, `2h`, `7d`; default and most: 29 days. */
export interface SleepOptions {
  readonly max?: number | string;
  readonly description?: string;
}

/**
 * Defines a tool with which the model lets its run sleep: for a number of seconds, or until a time.
 *
 * @throws AgentInvalid with the first problem
 */
export function sleep(options: SleepOptions = {}) {
  const most = msOf("sleep", "max", options.max ?? SLEEP_MS_MAX);
  const input = z
    .object({
      seconds: z
        .int()
        .positive()
        .max(Math.floor(most / 1_000))
        .optional()
        .describe("How long to sleep."),
      until: z.iso.datetime({ offset: true }).optional().describe("When to wake, such as 2030-01-31T09:00:00Z."),
    })
    .refine(({ seconds, until }) => (seconds === undefined) !== (until === undefined), {
      message: "give either seconds or until",
    });
  const description = options.description ?? "Waits without doing anything: for a number of seconds, or until a time.";
  return waitingTool({
    description,
    input,
    wait: {
      for: "time",
      accepts: null,
      atLimit: { kind: "tell" },
      until: (given, now) => {
        const { seconds, until } = given as z.output<typeof input>;
        const at = until === undefined ? now + (seconds ?? 0) * 1_000 : Date.parse(until);
        if (at - now > most) throw new Error(`it may sleep for ${Math.floor(most / 1_000)} seconds at most`);
        return Math.max(at, now);
      },
    },
  });
}

export interface WaitForOptions<Detail extends z.ZodType, Schema extends z.ZodType> extends WaitLimit<z.input<Detail>> {
  /** The name of the event: 1 to 64 letters, digits and `. _ : -`. A function computes it from the arguments. */
  readonly event: string | ((input: z.output<Schema>) => string);
  /** The schema of the event's detail. An event that does not fit is refused, and the call waits on. Default: any JSON. */
  readonly detail?: Detail;
  /**
   * Whether an event with this detail ends the wait; default: each that fits does. A service that reports "queued",
   * "running" and "done" to one link is answered 202 each time, and the call waits on until this returns true.
   */
  readonly until?: (detail: z.output<Detail>) => boolean;
  readonly description?: string;
  /** The arguments of the call. Default: none. */
  readonly input?: Schema;
}

const NOTHING = z.object({});

/**
 * Defines a tool that waits for an event from outside: `cairn signal RUN EVENT --detail JSON`, the HTTP API, or the
 * client. Its result is `{ event, at, detail }`. One event ends one wait. An event that comes before the call waits is
 * kept for it.
 *
 * ```ts
 * tools: {
 *   awaitPayment: waitFor({ event: "payment.settled", detail: z.object({ amount: z.number() }), timeLimit: "7d" }),
 * }
 * ```
 *
 * @throws AgentInvalid with the first problem
 */
export function waitFor<Detail extends z.ZodType = z.ZodType, Schema extends z.ZodType = typeof NOTHING>(
  options: WaitForOptions<Detail, Schema>,
): Tool<Schema> {
  checkDefined("waitFor", options, DEFINITIONS.waitFor);
  const { event, detail = null, input = NOTHING, until } = options;
  const what = "waitFor";
  if (typeof event !== "function" && !isEventName(event)) {
    throw new AgentInvalid(`${what} has event ${JSON.stringify(event)}: write 1 to 64 letters, digits and . _ : -`);
  }
  const name = typeof event === "function" ? event : () => event;
  const described = typeof event === "function" ? "an event" : `the event ${event}`;
  return waitingTool({
    description: options.description ?? `Waits for ${described} from outside.`,
    input: input as Schema,
    wait: {
      for: "event",
      accepts: detail,
      event: (given) => name(given as z.output<Schema>),
      ...(until !== undefined && { ends: (given) => endsBy(until(given as z.output<Detail>)) }),
      ...limitOf(what, options, detail),
    },
  });
}

function endsBy(said: unknown): boolean {
  if (typeof said === "boolean") return said;
  throw new Error(
    `until of waitFor has to return true or false at once, and returned ${said instanceof Promise ? "a promise" : typeof said}`,
  );
}

function waitingTool<Schema extends z.ZodType>({
  description,
  input,
  wait,
}: {
  readonly description: string;
  readonly input: Schema;
  readonly wait: WaitRule;
}): Tool<Schema> {
  return {
    description,
    input,
    output: null,
    effect: "none",
    probe: null,
    approval: "never",
    timeoutMs: null,
    settleMs: null,
    externalId: null,
    ...rulesOf({}),
    // The engine waits instead.
    run: () => {
      throw new Error("a tool that waits has no function of its own");
    },
    wait,
  };
}

function limitOf(
  what: string,
  { timeLimit, atLimit = "tell" }: WaitLimit<unknown>,
  schema: z.ZodType | null,
): Pick<WaitRule, "until" | "atLimit"> {
  if (timeLimit === undefined) {
    if (atLimit !== "tell") throw new AgentInvalid(`${what} has atLimit and no timeLimit: write timeLimit: "2d"`);
    return { until: () => null, atLimit: { kind: "tell" } };
  }
  const ms = msOf(what, "timeLimit", timeLimit);
  return { until: (_, now) => now + ms, atLimit: otherwiseOf(what, atLimit, schema) };
}

function otherwiseOf(what: string, atLimit: unknown, schema: z.ZodType | null): WaitRule["atLimit"] {
  if (atLimit === "tell" || atLimit === "fail") return { kind: atLimit };
  if (typeof atLimit !== "object" || atLimit === null || !("take" in atLimit)) {
    throw new AgentInvalid(`${what} has atLimit ${JSON.stringify(atLimit)}: write "tell", "fail" or { take: VALUE }`);
  }
  const parsed = schema === null ? ({ kind: "fits", output: atLimit.take } as const) : fit(schema, atLimit.take);
  if (parsed.kind !== "fits") throw new AgentInvalid(`the atLimit.take of ${what} does not fit its own schema`);
  const json = asJson(parsed.output);
  if (!json.ok || sizeOf(json.json) > SIZES.inputInlineBytesMax) {
    throw new AgentInvalid(`the atLimit.take of ${what} is no JSON of at most ${SIZES.inputInlineBytesMax} bytes`);
  }
  return { kind: "take", value: json.json };
}

const sizeOf = (json: Json): number => Buffer.byteLength(JSON.stringify(json));

function msOf(what: string, option: string, given: number | string): number {
  const ms = typeof given === "number" ? given : durationMs(given);
  if (ms === null || !Number.isSafeInteger(ms) || ms <= 0 || ms > SLEEP_MS_MAX) {
    throw new AgentInvalid(
      `${what} has ${option} ${JSON.stringify(given)}: write milliseconds or a text such as "90s", "2h" or "7d", 29 days at most`,
    );
  }
  return ms;
}
