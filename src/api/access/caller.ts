/** The caller of a request, and how a server finds out who it is. */
import type { Scope } from "../../operations/operation.ts";

/** The identified caller of a request. */
export interface Caller {
  /** The caller sees and steers the runs of this tenant only, unless it is the operator of the machine. */
  readonly tenant: string;
  /** The operator of the machine with the store, who can read all of it anyway. No token and no login gives this. */
  readonly isOperator?: true;
  /** Who sends or starts, for the run's history and the audit log. */
  readonly actor: string;
  /** What the caller may do. */
  readonly scopes: readonly Scope[];
  /** The ID of the access token, if one identified the caller. Never its secret. */
  readonly token?: string;
  /** The network address of the caller, where the server knows it. */
  readonly address?: string;
}

/** What identifies a caller, in the headers of a request. */
export interface Credentials {
  /** The `Authorization` header; empty without one. */
  readonly authorization: string;
}

/** Identifies the caller of a request. Throws an `ApiProblem` that says why it cannot. */
export type Authenticate = (credentials: Credentials) => Promise<Caller>;
