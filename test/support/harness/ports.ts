/**
 * The ports of rows, messages and mutex leases as one object, for tests whose operations belong to several of them; and
 * one wrapper for every port that a run lives on, for tests that cut, freeze, lose or count calls.
 */
import type { Store } from "../../../src/adapters/local/store/database.ts";
import { sqliteInbox, sqliteMutexLeases, sqliteRunTable } from "../../../src/adapters/local/store/run-table.ts";
import type { Inbox } from "../../../src/ports/inbox.ts";
import type { MutexLeases } from "../../../src/ports/mutex-leases.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import type { World } from "../../../src/ports/world.ts";
import type { DecisionCalls } from "../../../src/testing/decisions.ts";

export type Ports = RunTable & Inbox & MutexLeases;

/** Every operation on rows, messages and mutex leases by its name; a decision has its own. */
export type Operations = Omit<Ports, "decide"> & DecisionCalls;

/** By what a call of a port is named: a decision by its own name. */
export const nameOfCall = (member: string | symbol, given: readonly unknown[]): string =>
  member === "decide" ? (given[1] as { readonly name: string }).name : String(member);

export const sqlitePorts = (store: Store): Ports => ({
  ...sqliteRunTable(store),
  ...sqliteInbox(store),
  ...sqliteMutexLeases(store),
});

type Local =
  | "clock"
  | "kernel"
  | "random"
  | "telemetry"
  | "secrets"
  | "sealKeys"
  | "limits"
  | "sizes"
  | "hash"
  | "links"
  | "intrinsics"
  | "announce"
  | "placesOf"
  | "reading"
  | "heldBy";
type Remote = Exclude<keyof World, Local>;

/** A port that is added to the world belongs in here, or in `Local`: otherwise this does not compile. */
const REMOTE = {
  ...{ table: true, inbox: true, leases: true, records: true, deltas: true },
  ...{ objects: true, chain: true, webhooks: true },
} satisfies Record<Remote, true>;

/** One call of a port that a process makes over a network. */
export interface PortCall {
  readonly port: Remote;
  /** The method: `deliver`. */
  readonly method: string;
  /** Makes the call. */
  readonly send: () => Promise<unknown>;
}

/** The same world, in which every call of every remote port goes through `meet`. */
export function wrapPorts<W extends World>(world: W, meet: (call: PortCall) => Promise<unknown>): W {
  const wrapped = Object.keys(REMOTE).flatMap((name) => {
    const port = name as Remote;
    const wrappable: object | undefined = world[port];
    if (wrappable === undefined) return [];
    const proxy = new Proxy(wrappable, {
      get: (target, member) => {
        const call: unknown = Reflect.get(target, member);
        if (typeof call !== "function") return call;
        return (...of: unknown[]): Promise<unknown> =>
          meet({ port, method: nameOfCall(member, of), send: async () => Reflect.apply(call, target, of) as unknown });
      },
    });
    return [[port, proxy] as const];
  });
  return { ...world, ...Object.fromEntries(wrapped) };
}
