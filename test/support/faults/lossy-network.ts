/** A network between a writer and its store that loses, delays and applies writes as a test says. */
import type { World } from "../../../src/ports/world.ts";
import { decisionCalls, withCalls } from "../../../src/testing/decisions.ts";

/**
 * The fate of one copy of a write: answered; lost; applied with its response lost; delayed until just before
 * the next copy is processed; delayed until just after it.
 */
export type Fate = "answered" | "lost" | "unanswered" | "before the next" | "after the next";

export interface Network {
  readonly fates: readonly Fate[];
  /** Runs while the outcome of the first copy is unknown. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** `write` over that network; sent copies are recorded. */
export function sendOver<Sent, Outcome>(network: Network, write: (sent: Sent) => Promise<Outcome>) {
  const sent: Sent[] = [];
  const early: (() => Promise<unknown>)[] = [];
  const late: (() => Promise<unknown>)[] = [];
  const send = async (copy: Sent) => {
    const fate = network.fates[sent.length] ?? "answered";
    if (sent.length === 1) await network.meanwhile?.();
    sent.push(copy);
    for (const land of early.splice(0)) await land();
    const landing = late.splice(0);
    const outcome = fate === "answered" || fate === "unanswered" ? await write(copy) : null;
    for (const land of landing) await land();
    if (fate === "before the next") early.push(() => write(copy));
    if (fate === "after the next") late.push(() => write(copy));
    return fate === "answered" && outcome !== null ? outcome : ({ kind: "ambiguous", why: "timeout" } as const);
  };
  return { sent, send };
}

export type Operation = "create" | "claim" | "commit" | "park" | "handOver" | "recordEndNotified" | "keepKey";

/** A world whose writes of one kind use that network. */
export function worldOverNetwork(world: World, operation: Operation, network: Network) {
  const { [operation]: call } = { ...world.table, ...decisionCalls(world.table) };
  const { sent, send } = sendOver(network, call as (sent: unknown) => Promise<unknown>);
  return { sent, world: { ...world, table: withCalls(world.table, { [operation]: send }) } };
}
