/**
 * The `chaos` export of an agent file, for `cairn chaos`: the tasks to try, and how to ask the external service what
 * really happened. Without it, cairn counts effects where calls leave the process. That count cannot show whether the
 * external service honours idempotency keys, so an agent that ignores its keys would pass.
 */
import { DEFINITIONS } from "./definition-forms.ts";
import { checkDefined } from "./option-forms.ts";
import type { Json } from "../core/json.ts";

/** An effect that the external service reports. */
export interface OutsideEffect {
  /** The tool that causes such effects. */
  readonly tool: string;
  /** The external service's own ID of the effect. */
  readonly id: string;
  /** The subject of the effect. Two effects of one tool with the same subject are a duplicate. */
  readonly of: string;
}

/** The `chaos` export of an agent file, with its defaults (`defineChaos`). */
export interface Chaos {
  /** The input of task number `task`, counted from 1. */
  readonly input: (task: number) => unknown;
  /** Environment variables for the processes. `dir` is the store directory, which `CAIRN_STORE` also names. */
  readonly env: (dir: string) => Readonly<Record<string, string>>;
  /** Called before the first task in a store directory. */
  readonly prepare: (dir: string) => void | Promise<void>;
  /** All effects of the tasks in a store directory. Null: cairn counts the calls that it sees. */
  readonly effects: ((dir: string) => readonly OutsideEffect[] | Promise<readonly OutsideEffect[]>) | null;
  /** The part of a result that must be equal with and without kills. */
  readonly normalise: (result: Json) => Json;
  /** What a call that waits is given: an answer, or the detail of an event. Undefined: nothing comes before its limit. */
  readonly answer?: (wait: ChaosWait) => Json | undefined;
  /**
   * What stands in for the services that tools act on, by the names of the tools; `"worker.send"` is a tool of the child
   * agent `worker`, and `"desk_*"` stands for all tools that the server with that prefix lists. A tool without an entry is
   * replaced by a fake, whose result is made up from its `output`.
   */
  readonly standIns: Readonly<Record<string, StandIn>>;
  /** Decides about calls that ask for approval. Absent: a trial in which a call asks fails. */
  readonly decide?: (gate: ChaosGate) => "approve" | "deny";
}

/**
 * `"service"`: the tool's own code runs, and reaches only a service that `prepare` and `env` provide for the trial, whose
 * effects `effects` returns. A function: a fake replaces the tool, and the function gives its results.
 */
export type StandIn = "service" | ((input: never) => unknown);

/** A call that asks for approval. */
export interface ChaosGate {
  readonly tool: string;
  readonly args: Json;
  readonly reason: string;
}

/** A call that waits: for a human's answer (`event` is null), or for an event. */
export interface ChaosWait {
  readonly tool: string;
  readonly event: string | null;
  readonly args: Json;
}

/**
 * Defines the `chaos` export of an agent file; only `input` is required. Give each task a different input, so that the
 * external service can distinguish the effects of the tasks.
 *
 * @example
 *   export const chaos = defineChaos({
 *     input: (task) => ({ name: `Ada ${task}` }),
 *     env: (dir) => ({ LETTERS: dir }),
 *     standIns: { sendLetter: "service" },
 *     effects: (dir) => lettersIn(dir).map(({ id, to }) => ({ tool: "sendLetter", id, of: to })),
 *   });
 */
export function defineChaos(options: { readonly input: Chaos["input"] } & Partial<Omit<Chaos, "input">>): Chaos {
  checkDefined("defineChaos", options, DEFINITIONS.defineChaos);
  return {
    input: options.input,
    env: options.env ?? (() => ({})),
    prepare: options.prepare ?? (() => {}),
    effects: options.effects ?? null,
    normalise: options.normalise ?? ((result) => result),
    standIns: options.standIns ?? {},
    ...(options.decide === undefined ? {} : { decide: options.decide }),
    ...(options.answer === undefined ? {} : { answer: options.answer }),
  };
}
