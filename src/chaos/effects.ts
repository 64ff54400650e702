/**
 * What happened outside, counted the same way whoever caused it. The other side's own word is best. Without it the log
 * of calls is read, which sees that a tool was run and under which key, and believes that keys are honoured.
 */
import type { OutsideEffect } from "../agent/chaos.ts";
import { canonical } from "../codec/canonical.ts";
import type { Line } from "./trace.ts";

/**
 * Of one task: nothing for tools without an effect; for keyed ones the runs under one key are one effect; for others
 * each run is one. A run that threw says that it did nothing.
 */
export function effectsIn(lines: readonly Line[], task: number): readonly OutsideEffect[] {
  const runs = new Map<string, { readonly effect: OutsideEffect; readonly isKeyed: boolean; times: number }>();
  for (const line of lines) {
    if (line.kind !== "call" || line.effect === "none") continue;
    const { tool, key, what } = line;
    const of = `task ${task}: ${canonical(line.args)}`;
    const name = JSON.stringify([tool, key, of]);
    const run = runs.get(name) ?? { effect: { tool, id: key, of }, isKeyed: line.effect === "keyed", times: 0 };
    runs.set(name, run);
    if (what === "begun") run.times += 1;
    else if (what === "threw") run.times -= 1;
  }
  return [...runs.values()].flatMap(({ effect, isKeyed, times }) =>
    Array.from({ length: isKeyed ? Math.min(1, times) : times }, () => effect),
  );
}

/** What happened too often, or not as often as it should have. */
export interface Difference {
  readonly tool: string;
  readonly of: string;
  /** How many too many, or too few. */
  readonly times: number;
  /** The other side's names for what happened. */
  readonly ids: readonly string[];
}

/** `expected` are the effects of the uninterrupted tasks. The first effect about something new is no duplicate. */
export function compareEffects(
  expected: readonly OutsideEffect[],
  seen: readonly OutsideEffect[],
): { readonly duplicates: readonly Difference[]; readonly missing: readonly Difference[] } {
  const [due, found] = [byDeed(expected), byDeed(seen)];
  const over = [...found].flatMap(([deed, { tool, of, ids }]): Difference[] => {
    const times = ids.length - Math.max(1, due.get(deed)?.ids.length ?? 0);
    return times > 0 ? [{ tool, of, times, ids }] : [];
  });
  const under = [...due].flatMap(([deed, { tool, of, ids }]): Difference[] => {
    const times = ids.length - (found.get(deed)?.ids.length ?? 0);
    return times > 0 ? [{ tool, of, times, ids: found.get(deed)?.ids ?? [] }] : [];
  });
  return { duplicates: over, missing: under };
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
