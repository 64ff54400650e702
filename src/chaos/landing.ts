/**
 * Waits until requests have landed before effects are counted. A request of a killed process may take effect after its
 * run has ended, and so may a request that a service only queues. An earlier count would miss exactly the duplicates
 * that a false `settleMs` causes.
 */
import { setTimeout as elapse } from "node:timers/promises";
import { EFFECTS } from "../core/calls/effects.ts";
import type { Agent } from "../ports/agent.ts";
import type { Limits } from "../protocol/limits.ts";
import type { OutsideEffect } from "../sdk/chaos.ts";
import { effectsIn } from "./effects.ts";
import type { Kill } from "./kills.ts";
import type { Outcome } from "./strategy.ts";

/** The effects of a pass, and how long after the last call the last of them may appear. */
export interface Landed {
  readonly effects: readonly OutsideEffect[];
  /** The longest time from the start of a call until the service shows its effect, as seen, in milliseconds. */
  readonly lateMs: number;
}

/** How long an effect of an uninterrupted task is waited for beyond the declared `settleMs`. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 100;

interface Landing {
  /** What the services and fakes show now. */
  readonly seen: (dir: string) => Promise<readonly OutsideEffect[]>;
  readonly dir: string;
  readonly outcomes: readonly Outcome[];
  readonly stop: AbortSignal;
}

/** Counts the effects of uninterrupted tasks, once each call that returned has its effect. */
export async function countReference(landing: Landing & { readonly settleMs: number }): Promise<Landed> {
  const { dir, outcomes, stop, settleMs } = landing;
  const due = outcomes.flatMap(({ task, lines }) => effectsIn(lines, task));
  const [begunAt, tookMs] = [lastCallAt(outcomes), longestCallMs(outcomes)];
  for (;;) {
    const effects = await landing.seen(dir);
    const seen = countOf(effects);
    const areAllSeen = [...countOf(due)].every(([tool, times]) => (seen.get(tool) ?? 0) >= times);
    const lateMs = Date.now() - begunAt;
    if (areAllSeen) return { effects, lateMs: Math.max(tookMs, Math.min(lateMs, settleMs + PATIENCE_MS)) };
    if (lateMs > settleMs + PATIENCE_MS) return { effects, lateMs: tookMs };
    await elapse(LOOK_MS, undefined, { signal: stop });
  }
}

/** Counts the effects of killed tasks, twice as long after their last call as an effect took in uninterrupted ones. */
export async function countKilled(landing: Landing & { readonly lateMs: number }): Promise<readonly OutsideEffect[]> {
  const leftMs = lastCallAt(landing.outcomes) + 2 * landing.lateMs - Date.now();
  if (leftMs > 0) await elapse(leftMs, undefined, { signal: landing.stop });
  return landing.seen(landing.dir);
}

const lastCallAt = (outcomes: readonly Outcome[]): number =>
  Math.max(0, ...outcomes.flatMap(({ lines }) => lines.map((line) => (line.kind === "call" ? line.at : 0))));

const longestCallMs = (outcomes: readonly Outcome[]): number =>
  Math.max(
    0,
    ...outcomes.flatMap(({ lines }) =>
      lines.map((line) => (line.kind === "took" && line.name !== "model" ? line.ms : 0)),
    ),
  );

const countOf = (effects: readonly OutsideEffect[]): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(effects, ({ tool }) => tool)].map(([tool, all]) => [tool, all.length]));

/** The longest declared settle time of the agent's tools; 0 if none declares one. */
export const longestSettleMs = ({ tools }: Pick<Agent, "tools">): number =>
  Math.max(0, ...Object.values(tools).map(({ settleMs }) => settleMs ?? 0));

/**
 * The settle time of a pass: the short one, unless a call is killed whose recovery waits for the world's own. A shorter
 * wait would show duplicates that the deployed agent does not have.
 */
export function settleMsOf(
  kills: Iterable<Kill>,
  {
    agent,
    worldSettleMs,
    limits,
  }: { readonly agent: Pick<Agent, "tools">; readonly limits: Limits; readonly worldSettleMs: number },
): number {
  const relies = ({ when, name, at }: Kill): boolean => {
    const tool = agent.tools[at];
    const effect = name === "undo" ? tool?.undo?.effect : tool?.effect;
    return (
      when === "during" && effect !== undefined && EFFECTS[effect].onCrash === "probe" && (tool?.settleMs ?? 0) === 0
    );
  };
  return [...kills].some(relies) ? worldSettleMs : limits.settleMs;
}
