/** Helpers with which commands perform operations of the operation table, and turn refused outcomes into errors. */
import { DEFAULT_TENANT } from "../core/ids.ts";
import { callerTraceIn } from "../codec/caller-trace.ts";
import type { AnyOperation, OperationContext } from "../operations/operation.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import type { Opened } from "../compose/open.ts";
import type { Shell } from "./shell.ts";
import type { Transport } from "./transport.ts";

/** `more`: fields of the context that only this command needs. The identity that a service knows is the actor. */
export const localContext = (
  shell: Shell,
  { world, operator }: Pick<Opened, "world" | "operator">,
  more: Partial<OperationContext> = {},
): OperationContext => ({
  world,
  tenant: DEFAULT_TENANT,
  agentOf: async () => null,
  origin: { from: shell.host(), token: null },
  ...tracedBy(shell),
  ...more,
  by: operator ?? more.by ?? shell.user(),
});

/** The trace that the environment names, as tools that trace commands set it. */
export function tracedBy({ env }: Pick<Shell, "env">): Pick<OperationContext, "trace"> {
  const trace = callerTraceIn({ traceparent: env["TRACEPARENT"], tracestate: env["TRACESTATE"] });
  return trace === null ? {} : { trace };
}

interface Words {
  readonly what: string;
  readonly why: string;
  readonly next: string;
  readonly facts?: UserError["trouble"]["facts"];
}

/** Turns an outcome into an error, with the code and exit code that the operation table gives it. */
export function refusedAs({ outcomes }: Pick<AnyOperation, "outcomes">, kind: string, words: Words): UserError {
  const { exit, code } = outcomes[kind] ?? { exit: "failed", code: null };
  const { facts, ...rest } = words;
  return new UserError({ ...rest, code: code ?? kind, exit: EXIT[exit], ...(facts !== undefined && { facts }) });
}

/** Returns the outcome, or throws `RunUnknown` if the run no longer exists. */
export function unlessRunGone<Outcome extends { readonly kind: string }>(
  { gone }: Pick<Transport, "gone">,
  { run, outcome }: { readonly run: string; readonly outcome: Outcome },
): Exclude<Outcome, { readonly kind: "missing" }> {
  if (isThere(outcome)) return outcome;
  throw gone(run);
}

const isThere = <Outcome extends { readonly kind: string }>(
  outcome: Outcome,
): outcome is Exclude<Outcome, { readonly kind: "missing" }> => outcome.kind !== "missing";
