/**
 * The type of an operation: one file `NAME.operation.ts`, and one row of the operation table (`table.ts`), from which the
 * CLI and the API derive what they need. A row defines the input, the required scope, the action, how it is reached, and
 * how to report each outcome. The HTTP API makes a route of every row that has `http`.
 */
import * as z from "zod";
import { SIZES } from "../codec/limits.ts";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import type { Row } from "../protocol/row.ts";
import type { OnStep } from "../history/reader.ts";
import type { TraceHeaders } from "../codec/caller-trace.ts";
import type { CountedBy } from "../features/spend-caps/counters.ts";
import type { AgentCatalogue } from "./agents.ts";
import type { ExaminedStore } from "../ports/diagnosis.ts";
import type { SupervisorLoad } from "../ports/supervision.ts";
import type { FiringsOf } from "./schedules.ts";

/**
 * The permission that a caller needs. `runs:read`: views. `runs:write`: start and steer runs, and send them messages.
 * `approve`: decide for a run (approvals, budgets, unknown outcomes, upgrades). `admin`: remove and fence runs, and read
 * who did what. No scope includes another one.
 */
export type Scope = (typeof SCOPES)[number];

export const SCOPES = ["runs:read", "runs:write", "approve", "admin"] as const;

/** Where a caller comes from: a network address or a machine, and the ID of its access token, never the secret. */
export interface RequestOrigin {
  readonly from: string | null;
  readonly token: string | null;
}

/** What an operation receives in addition to its input. */
export interface OperationContext {
  readonly world: World;
  /** The caller's identity as the CLI or API knows it, for the record. */
  readonly by: string;
  /** Where the caller comes from, for the audit log. */
  readonly origin?: RequestOrigin;
  /** The tenant whose runs are started and listed. The API lets a caller name no run of another tenant. */
  readonly tenant: string;
  /** The caller is the operator of the machine, and may name each tenant of its store; default: no. */
  readonly isOperator?: boolean;
  /** Loads the code of the agent with this name; null where it is not available. */
  readonly agentOf: (name: string) => Promise<Agent | null>;
  /** The agents that may be started; absent: none is known. */
  readonly agents?: () => Promise<AgentCatalogue>;
  /** What limits the starts of the caller; absent: nothing. */
  readonly counted?: CountedBy;
  /** The trace that the caller is in; absent: none is known. */
  readonly trace?: TraceHeaders;
  /** The row of the run, if the caller has just read it. */
  readonly row?: Row;
  /** The next times of a schedule; absent: they are not known here. */
  readonly firingsOf?: FiringsOf;
  /** Checks what runs need, as `cairn doctor` does; absent: that is not possible here. */
  readonly examine?: () => Promise<ExaminedStore>;
  /** What the supervisor in this process has to do; absent, or null: none is in it. */
  readonly load?: () => SupervisorLoad | null;
  /** Reports the progress of a long read. */
  readonly onStep?: OnStep;
  /** Receives the lines of an export. */
  readonly write?: (lines: string) => void | Promise<void>;
}

/** How a process ends. The CLI maps each value to an exit code. */
export type Exit = "done" | "failed" | "usage" | "notFound" | "refused" | "store";

/** How an outcome is reported. */
export interface OutcomeReport {
  readonly exit: Exit;
  /** The status of the HTTP response. */
  readonly status: 200 | 202 | 404 | 409 | 413 | 422 | 429 | 500;
  /** The stable code of the error or problem; null if the outcome is neither. */
  readonly code: string | null;
  /** One sentence, used where the CLI or API has no text of its own. */
  readonly says: string;
}

/** The HTTP route of an operation. */
export interface Http {
  readonly method: "get" | "post" | "delete";
  /** For example `/runs/{run}/messages`. Each name in braces is a field of the input. */
  readonly path: string;
  /** The field of the input that the header `Idempotency-Key` fills. */
  readonly key?: string;
  /** The same change twice has the effect of one, so a client sends it again if no answer comes. */
  readonly repeatable?: true;
  /** Fields of the input that the route bounds more tightly: a response has a maximum size, and a request a time. */
  readonly bounds?: Readonly<Record<string, z.ZodType>>;
}

/** A CLI command that performs the operation. `option`: only if that option is given. */
export interface CommandTyped {
  readonly command: string;
  readonly option?: string;
  /** The help text of this command; by default that of the operation. */
  readonly help?: string;
}

/** A route of another operation that performs this one: with these fields besides its input. */
export interface RouteOf {
  readonly operation: string;
  readonly adds: Readonly<Record<string, unknown>>;
}

/** How an operation is reached. One that only the store reaches says why, for the user who types it with `--api`. */
export type Reached =
  | { readonly over: readonly ["store"]; readonly storeOnly: string; readonly http?: never; readonly routeOf?: never }
  | {
      readonly over: readonly ["store", "http"];
      readonly http: Http;
      readonly routeOf?: never;
      readonly storeOnly?: never;
    }
  | {
      readonly over: readonly ["store", "http"];
      readonly routeOf: RouteOf;
      readonly http?: never;
      readonly storeOnly?: never;
    };

/** `Checked`: what its check hands to its action. */
export interface Operation<Input extends z.ZodObject, Outcome extends { readonly kind: string }, Checked = undefined> {
  readonly scope: Scope;
  /** False if the operation only reads. */
  readonly writes: boolean;
  readonly help: string;
  readonly typed: readonly CommandTyped[];
  readonly input: Input;
  /** Refuses by the input and the agent alone. It changes nothing, so no record tells of a refusal. */
  readonly check?: (context: OperationContext, input: z.output<Input>) => Promise<CheckOutcome<Outcome, Checked>>;
  /** Names the run that the operation is about, before it acts; by default the field `run` of its input. */
  readonly settle?: (
    context: OperationContext,
    input: z.output<Input>,
  ) => { readonly run: string; readonly input: z.output<Input> };
  readonly run: (context: OperationContext, input: z.output<Input>, checked: Checked) => Promise<Outcome>;
  readonly outcomes: { readonly [K in Outcome["kind"]]: OutcomeReport };
  readonly over: Reached["over"];
  /** Absent: the operation has no route of its own. */
  readonly http?: Http;
  readonly routeOf?: RouteOf;
  /** Why it has no route, where it has none on purpose. */
  readonly storeOnly?: string;
}

/** `passed` has what the action would otherwise do again. */
export type CheckOutcome<Outcome, Checked> =
  | { readonly kind: "passed"; readonly checked: Checked }
  | { readonly kind: "refused"; readonly outcome: Outcome };

/** A row with a uniform type, for code that treats all rows alike. */
export interface AnyOperation extends Omit<
  Operation<z.ZodObject, { readonly kind: string }>,
  "run" | "check" | "settle" | "outcomes"
> {
  readonly check?: (
    context: OperationContext,
    input: never,
  ) => Promise<CheckOutcome<{ readonly kind: string }, unknown>>;
  readonly settle?: (context: OperationContext, input: never) => { readonly run: string; readonly input: object };
  readonly run: (context: OperationContext, input: never, checked: never) => Promise<{ readonly kind: string }>;
  readonly outcomes: Readonly<Record<string, OutcomeReport>>;
}

/** A report of an outcome that is no error. */
type Done = OutcomeReport & { readonly code: null };

/** Checks the types of a row, so that no outcome lacks its report. The type knows which outcomes are errors. */
export const operation = <
  Input extends z.ZodObject,
  Outcome extends { readonly kind: string },
  Outcomes extends Operation<Input, Outcome>["outcomes"],
  Checked = undefined,
>(
  row: Operation<Input, Outcome, Checked> & Reached & { readonly outcomes: Outcomes },
): Operation<Input, Outcome, Checked> & { readonly outcomes: Outcomes } => row;

/** The outcomes of an operation that are no errors. */
export type SuccessOf<Row> =
  Row extends Operation<infer _, infer Outcome, infer _Checked>
    ? Row extends { readonly outcomes: infer Outcomes }
      ? Extract<
          Outcome,
          { readonly kind: { [K in keyof Outcomes]: Outcomes[K] extends Done ? K : never }[keyof Outcomes] }
        >
      : never
    : never;

/** There is no such run. */
export interface RunMissing {
  readonly kind: "missing";
}

/** The input of an operation on one run. Operations that need more extend it. */
export const runInput = z.strictObject({ run: z.string() });

/** Why the caller does it. It stands in the audit log; no model reads it. */
export const reason = z.string().max(SIZES.whyCharactersMax).default("");

const done = (says: string, status: 200 | 202 = 200): Done => ({ exit: "done", status, code: null, says });
const refused = (code: string, says: string): OutcomeReport => ({ exit: "refused", status: 409, code, says });
const invalid = (code: string, says: string): OutcomeReport => ({ exit: "usage", status: 422, code, says });
/** What was typed lacks a confirmation. Over HTTP it is a conflict, since the request itself has the right form. */
const unconfirmed = (says: string): OutcomeReport => ({ exit: "usage", status: 409, code: "NotConfirmed", says });

export const respond = { done, refused, invalid, unconfirmed };

/** Reports that many operations share. */
export const RESPONSES = {
  shown: done("It is shown."),
  accepted: done("It is accepted: the run will see it.", 202),
  missing: { exit: "notFound", status: 404, code: "RunUnknown", says: "There is no such run." },
  late: refused("Late", "The run has ended, and takes nothing more."),
  duplicate: refused("Duplicate", "It was sent before; the first one counts."),
  stale: refused("Stale", "The run does not wait for this, or no longer does."),
  unreadable: { exit: "store", status: 500, code: "Unreadable", says: "What is stored of the run cannot be read." },
} as const satisfies Readonly<Record<string, OutcomeReport>>;
