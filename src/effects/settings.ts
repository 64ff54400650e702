/** What every effect of the shelf takes besides its own options: the part of a tool that does not depend on the target. */
import type * as z from "zod";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { CallContext, OfCall, Tool, ToolContext, ToolRules } from "../ports/agent.ts";

/** The options of `tool` that an effect leaves to its user. */
export type ToolSettings<Schema extends z.ZodType> = Pick<Tool<Schema>, "input"> &
  Partial<Pick<Tool<Schema>, "description" | "approval" | "timeoutMs" | "settleMs" | "externalId">> &
  Partial<Pick<ToolRules<z.output<Schema>>, "key" | "onUnknown" | "parallel" | "retry" | "claims" | "redact">>;

/** What a function gets that describes the request of a call. It must return the same for every attempt of one call. */
export type RequestContext<Input> = CallContext & Pick<ToolContext<Input>, "input" | "key" | "secrets">;

/** The same for the request that undoes a call. `of.result` null: the outcome of that call is unknown. */
export type UndoRequestContext<Input> = RequestContext<Input> & OfCall;

/** Throws `AgentInvalid` unless the given client has these methods: a program in JavaScript may give another object. */
export function requireMethods(client: object, methods: readonly string[], next: string): void {
  const missing = methods.find((name) => typeof (client as Readonly<Record<string, unknown>>)?.[name] !== "function");
  if (missing !== undefined) throw new AgentInvalid(`the client of this effect has no method ${missing}: ${next}`);
}
