/**
 * Counts the effects in external services, in the same way for each strategy. Records of the external service are the
 * best evidence.
 *
 * Without them the trace of calls is read. It shows which tool ran under which key, and assumes that external services
 * honour keys.
 */
import type { OutsideEffect } from "../sdk/chaos.ts";
import { canonical } from "../codec/canonical.ts";
import { EFFECTS, STRICTEST } from "../core/calls/effects.ts";
import type { CallLine, Line } from "./trace.ts";

/**
 * The effects of one task that remain. A tool without effects has none; for a keyed tool all runs under one key are one
 * effect; for other tools each run is one effect. A run that threw had no effect. A compensated effect does not remain,
 * whichever attempt it belongs to.
 */
export function effectsIn(lines: readonly Line[], task: number): readonly OutsideEffect[] {
  const calls = lines.filter((line) => line.kind === "call");
  const acting = calls.filter(({ effect, undoes }) => undoes !== undefined || EFFECTS[effect].actsOutside);
  // Groups each call with the undos of that call.
  const deeds = Map.groupBy(acting, ({ tool, key, undoes = key, args }) =>
    JSON.stringify([tool, undoes, canonical(args)]),
  );
  return [...deeds.values()].flatMap((deed) => effectsOf(deed, task));
}

function effectsOf(deed: readonly CallLine[], task: number): readonly OutsideEffect[] {
  const [first] = deed;
  if (first === undefined) return [];
  const { tool, key, undoes = key, args } = first;
  const of = `task ${task}: ${canonical(args)}`;
  const undone = deed.findIndex((line) => line.undoes !== undefined && line.what === "returned");
  const runs = deed.filter((line) => line.undoes === undefined);
  const early = runs.filter((line) => deed.indexOf(line) < undone);
  const late = runs.filter((line) => deed.indexOf(line) > undone);
  const standing = Math.max(0, timesIn(early) - 1) + timesIn(late);
  const undos = timesIn(deed.filter((line) => line.undoes !== undefined));
  return [
    ...Array.from({ length: standing }, () => ({ tool, id: undoes, of })),
    // One undo is expected. Only repeated undos count as effects of their own.
    ...Array.from({ length: undos > 1 ? undos : 0 }, () => ({ tool: `undo of ${tool}`, id: undoes, of })),
  ];
}

/** How many effects these calls had: one per key if the service deduplicates. */
function timesIn(lines: readonly CallLine[]): number {
  const keys = Map.groupBy(lines, ({ key }) => key);
  return [...keys.values()].reduce((sum, runs) => {
    const count = (what: CallLine["what"]): number => runs.filter((run) => run.what === what).length;
    const times = Math.max(0, count("begun") - count("threw"));
    const { actsOutside, isDeduplicated } = EFFECTS[runs[0]?.effect ?? STRICTEST];
    if (!actsOutside) return sum;
    return sum + (isDeduplicated ? Math.min(1, times) : times);
  }, 0);
}

/** An effect that happened too often, or not often enough. */
export interface EffectDifference {
  readonly tool: string;
  readonly of: string;
  /** How many effects are too many, or missing. */
  readonly times: number;
  /** The external service's IDs of these effects. */
  readonly ids: readonly string[];
}

/** `expected`: the effects of the uninterrupted tasks. The first effect with new arguments is not a duplicate. */
export function compareEffects(
  expected: readonly OutsideEffect[],
  seen: readonly OutsideEffect[],
): { readonly duplicates: readonly EffectDifference[]; readonly missing: readonly EffectDifference[] } {
  const [due, found] = [byDeed(expected), byDeed(seen)];
  const over = [...found].flatMap(([deed, { tool, of, ids }]): EffectDifference[] => {
    const times = ids.length - Math.max(1, due.get(deed)?.ids.length ?? 0);
    return times > 0 ? [{ tool, of, times, ids }] : [];
  });
  const under = [...due].flatMap(([deed, { tool, of, ids }]): EffectDifference[] => {
    const times = ids.length - (found.get(deed)?.ids.length ?? 0);
    return times > 0 ? [{ tool, of, times, ids: found.get(deed)?.ids ?? [] }] : [];
  });
  return { duplicates: over, missing: under };
}

/**
 * The effects that are expected of killed tasks. What an uninterrupted task does twice is meant so, unless work was
 * handed out again in it. Then each effect is expected once: a duplicate would otherwise be compared with itself.
 */
export function expectedEffects(
  uninterrupted: readonly OutsideEffect[],
  { isHandedOutAgain }: { readonly isHandedOutAgain: boolean },
): readonly OutsideEffect[] {
  if (!isHandedOutAgain) return uninterrupted;
  const first = new Map(uninterrupted.toReversed().map((effect) => [JSON.stringify([effect.tool, effect.of]), effect]));
  return [...first.values()];
}

function byDeed(effects: readonly OutsideEffect[]) {
  const deeds = new Map<string, { readonly tool: string; readonly of: string; readonly ids: string[] }>();
  for (const { tool, of, id } of effects) {
    const name = JSON.stringify([tool, of]);
    const deed = deeds.get(name) ?? { tool, of, ids: [] };
    deed.ids.push(id);
    deeds.set(name, deed);
  }
  return deeds;
}
