/**
 * What an operation is: one row of the operation table (`table.ts`), from which every surface takes what it needs. A row says
 * what the operation takes, who may do it, what it does, and how each of its outcomes is told. The command line adds how it
 * is typed and rendered; the HTTP API makes a route of every row that has `http`.
 */
import type * as z from "zod";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import type { Row } from "../protocol/row.ts";
import type { OnStep } from "../history/reader.ts";

/**
 * What a caller must be allowed to: `read` looks; `operate` starts, steers and talks to runs; `approve` decides for a run
 * (approvals, budgets, unknown outcomes, upgrades); `admin` removes and fences.
 */
export type Scope = "read" | "operate" | "approve" | "admin";

export const SCOPES: readonly Scope[] = ["read", "operate", "approve", "admin"];

/** What an operation has besides its input. */
export interface OperationContext {
  readonly world: World;
  /** Who asks, as the surface knows them, for the record. */
  readonly by: string;
  /** Whose runs are started and listed. A surface lets a caller name no run of another tenant. */
  readonly tenant: string;
  /** The code of the agent of that name; null where the surface does not have it. */
  readonly agentOf: (name: string) => Promise<Agent | null>;
  /** The row of the run, where the surface has just read it. */
  readonly row?: Row;
  /** Hears how far a long reading has come. */
  readonly onStep?: OnStep;
  /** Where an export goes, line by line. */
  readonly write?: (lines: string) => void | Promise<void>;
}

/** How a process ends; the command line has a number for each. */
export type Exit = "done" | "failed" | "usage" | "notFound" | "refused" | "store";

/** How one outcome is told. */
export interface Told {
  readonly exit: Exit;
  /** Of the HTTP answer. */
  readonly status: 200 | 202 | 404 | 409 | 413 | 422 | 500;
  /** The stable code of the error or problem; null: it is neither. */
  readonly code: string | null;
  /** One sentence for a surface that has no words of its own. */
  readonly says: string;
}

export interface Http {
  readonly method: "get" | "post" | "delete";
  /** `/runs/{run}/messages`: each name in braces is one of the input. */
  readonly path: string;
}

/** A command that performs it; `option`: only with that option. */
export interface Typed {
  readonly command: string;
  readonly option?: string;
  /** What the help says of that command; the help of the operation, unless told. */
  readonly help?: string;
}

export interface Operation<Input extends z.ZodObject, Outcome extends { readonly kind: string }> {
  readonly scope: Scope;
  /** False: it only reads. */
  readonly writes: boolean;
  readonly help: string;
  readonly typed: readonly Typed[];
  readonly input: Input;
  readonly run: (context: OperationContext, input: z.output<Input>) => Promise<Outcome>;
  readonly outcomes: { readonly [K in Outcome["kind"]]: Told };
  /** Without it the operation has no route. */
  readonly http?: Http;
}

/** A row as a surface sees it that treats all of them alike. */
export interface AnyOperation extends Omit<Operation<z.ZodObject, { readonly kind: string }>, "run" | "outcomes"> {
  readonly run: (context: OperationContext, input: never) => Promise<{ readonly kind: string }>;
  readonly outcomes: Readonly<Record<string, Told>>;
}

/** Ties the parts of a row together, so that no outcome is left untold. */
export const operation = <Input extends z.ZodObject, Outcome extends { readonly kind: string }>(
  row: Operation<Input, Outcome>,
): Operation<Input, Outcome> => row;

/** Does it. What does not fit the input is a mistake of the surface, which checks what its caller sends. */
export const perform = <Input extends z.ZodObject, Outcome extends { readonly kind: string }>(
  { input, run }: Pick<Operation<Input, Outcome>, "input" | "run">,
  context: OperationContext,
  given: z.input<Input>,
): Promise<Outcome> => run(context, input.parse(given));

const done = (says: string, status: 200 | 202 = 200): Told => ({ exit: "done", status, code: null, says });
const refused = (code: string, says: string): Told => ({ exit: "refused", status: 409, code, says });
const invalid = (code: string, says: string): Told => ({ exit: "usage", status: 422, code, says });

export const tell = { done, refused, invalid };

/** Outcomes that many operations have. */
export const TOLD = {
  shown: done("It is shown."),
  accepted: done("It is accepted: the run will see it.", 202),
  missing: { exit: "notFound", status: 404, code: "RunUnknown", says: "There is no such run." },
  late: refused("Late", "The run has ended, and takes nothing more."),
  duplicate: refused("Duplicate", "It was said before; the first time counts."),
  stale: refused("Stale", "The run waits for no such thing, or does not wait for it any more."),
  unreadable: { exit: "store", status: 500, code: "Unreadable", says: "What is stored of the run cannot be read." },
} as const satisfies Readonly<Record<string, Told>>;
