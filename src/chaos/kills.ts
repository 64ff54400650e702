/**
 * Decides when to kill. Moments are counted in the same way for every strategy, so "after the fourth tool" means the
 * same for all. The choice depends only on the seed and the uninterrupted tasks, so a failure can be repeated.
 */
import { EFFECTS } from "../core/calls/effects.ts";
import type { Agent } from "../ports/agent.ts";
import type { Moment as ProtocolMoment } from "../testing/fault-points.ts";

/** A moment of a task. `model` and `effect` exist in every strategy; the other names are specific to one. */
export interface KillMoment {
  /** `during`: the call has started, and has not returned to its caller. */
  readonly when: ProtocolMoment["when"] | "during";
  readonly name: ProtocolMoment["name"] | "save";
  /** For humans: the tool, the version or the epoch. */
  readonly at: string;
}

/** The `nth` moment of that name, counted from 1. */
export interface Kill extends KillMoment {
  readonly nth: number;
  /** For a kill during a call: how long after its start, in milliseconds. */
  readonly afterMs?: number;
}

/**
 * Whether a kill at this moment leaves something that the comparison can judge.
 *
 * Only the external service knows whether an interrupted call took effect. So kills during tool calls need its records
 * (`isCounted`). The outcome of an `unsafe` call would have to come from a human, whom chaos cannot replace.
 */
export const canJudge =
  (agent: Pick<Agent, "tools">, isCounted: boolean) =>
  ({ when, name, at }: KillMoment): boolean => {
    if (when !== "during" || name === "model") return true;
    const tool = agent.tools[at];
    const effect = name === "undo" ? tool?.undo?.effect : tool?.effect;
    return isCounted && effect !== undefined && EFFECTS[effect].onCrash !== "ask";
  };

/** A kill in words, such as `after effect 4 (bookFlight)`. */
export const killWords = ({ when, name, nth, at }: Kill): string =>
  `${when} ${name} ${nth}${at === "" ? "" : ` (${at})`}`;

/** Numbers each moment among those of the same name. */
export function numbered(moments: readonly KillMoment[]): readonly Kill[] {
  const counts = new Map<string, number>();
  return moments.map(({ when, name, at }) => {
    const kind = `${when} ${name}`;
    const nth = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, nth);
    return { when, name, at, nth };
  });
}

/** Whether every strategy has moments of this name. */
const isShared = ({ name }: KillMoment): boolean => name === "model" || name === "effect";

/**
 * A random moment of a random beat; null if the model was never called. A beat begins with its model call. A kill
 * during a call comes at a random time of it: `tookMs` is how long that call took without interruption.
 */
export function randomKill(
  moments: readonly KillMoment[],
  chance: () => number,
  rules: { readonly tookMs: (kill: Kill) => number; readonly canJudge: (moment: KillMoment) => boolean },
): Kill | null {
  const beats: Kill[][] = [];
  for (const kill of numbered(moments).filter((each) => isShared(each) && rules.canJudge(each))) {
    if (kill.name === "model" && kill.when === "before") beats.push([]);
    beats.at(-1)?.push(kill);
  }
  const beat = beats[Math.floor(chance() * beats.length)] ?? [];
  const kill = beat[Math.floor(chance() * beat.length)] ?? null;
  return kill?.when === "during" ? { ...kill, afterMs: Math.floor(chance() * rules.tookMs(kill)) } : kill;
}

/**
 * A deterministic random generator, seeded by a text: mulberry32 over its FNV-1a hash. It returns numbers from 0 to 1.
 */
export function chanceFrom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
