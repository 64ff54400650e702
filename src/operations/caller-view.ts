/** Who a caller of the HTTP API is, and what its server performs for it. */
import type { Attendant } from "../ports/world-provider.ts";
import type { AnyOperation, Scope } from "./operation.ts";

export interface CallerView {
  readonly tenant: string;
  readonly actor: string;
  readonly scopes: readonly Scope[];
  /** It is the operator of the machine with the store, and may name each tenant. */
  readonly isOperator: boolean;
  /** The operations that have a route here and whose scope the caller has. */
  readonly operations: readonly string[];
  /** The operations that this server performs for no caller. */
  readonly absent: readonly string[];
  /** The process or service that drives the runs now; null: none does, or the server does not know. */
  readonly attendant: Attendant | null;
}

type Rows = Readonly<Record<string, Pick<AnyOperation, "http" | "scope">>>;

/** `here`: the operations of this server; `all`: of every server. */
export function viewOfCaller(
  {
    tenant,
    actor,
    scopes,
    isOperator = false,
  }: Pick<CallerView, "tenant" | "actor" | "scopes"> & { readonly isOperator?: boolean },
  { here, all, attendant = null }: { readonly here: Rows; readonly all: Rows; readonly attendant?: Attendant | null },
): CallerView {
  const routed = (rows: Rows): readonly string[] =>
    Object.entries(rows).flatMap(([name, { http }]) => (http === undefined ? [] : [name]));
  const ours = new Set(routed(here));
  return {
    tenant,
    actor,
    scopes,
    isOperator,
    operations: [...ours].filter((name) => scopes.some((scope) => scope === here[name]?.scope)),
    absent: routed(all).filter((name) => !ours.has(name)),
    attendant,
  };
}
