/**
 * What an agent's file may say for `cairn chaos`, under the name `chaos`: which tasks to try, and where to look for what
 * really happened. Without it effects are counted where calls leave cairn, which cannot tell whether the other side
 * honours a key: an agent that ignores its keys would pass.
 */
import type { Json } from "../core/json.ts";

/** Something that happened at the other side, as it says itself. */
export interface OutsideEffect {
  /** The tool that is meant to do such things. */
  readonly tool: string;
  /** The other side's own name for it. */
  readonly id: string;
  /** What it is about. Two effects of one tool about the same are one too many. */
  readonly of: string;
}

export interface Chaos {
  /** The input of the task of that number; they count from 1. */
  readonly input: (task: number) => unknown;
  /** What the processes find in their environment; `dir` is also what `CAIRN_STORE` names for the agent. */
  readonly env: (dir: string) => Readonly<Record<string, string>>;
  /** Called before the first task of a directory. */
  readonly prepare: (dir: string) => void | Promise<void>;
  /** All that happened in the world of that directory. Null: cairn counts what it can see. */
  readonly effects: ((dir: string) => readonly OutsideEffect[] | Promise<readonly OutsideEffect[]>) | null;
  /** What of a result must be equal, killed or not. */
  readonly normalise: (result: Json) => Json;
}

/** Write `export const chaos = defineChaos({ input, effects })`. Inputs that differ tell tasks apart at the other side. */
export function defineChaos(options: { readonly input: Chaos["input"] } & Partial<Omit<Chaos, "input">>): Chaos {
  return {
    input: options.input,
    env: options.env ?? (() => ({})),
    prepare: options.prepare ?? (() => {}),
    effects: options.effects ?? null,
    normalise: options.normalise ?? ((result) => result),
  };
}
