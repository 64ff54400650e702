/**
 * What functions of an agent chose for the calls of its model: instructions, tools, model and options. The state keeps the
 * choice, so a repeated beat, a resumed run and a replay make the same request.
 */
import type { Json } from "./json.ts";
import type { Value } from "./message.ts";

/** A member that is absent is what the agent declares. */
export interface Choice {
  /** In place of the instructions of the agent: an object of the run. */
  readonly instructions?: Value;
  /** The tools that the model is offered, in this order. */
  readonly offered?: readonly string[];
  /** The name of one of the models of the agent. */
  readonly model?: string;
  /** Model options in addition to those of the agent. */
  readonly options?: { readonly [name: string]: Json };
}

/** The choice of a run, and what it was made for. */
export interface Chosen {
  readonly choice: Choice;
  readonly restart: number;
  readonly agentVersion: string;
  /** How many messages the transcript had. */
  readonly messages: number;
}

/** The bodies of the events about choices. */
export interface ChoiceEvents {
  /** Made before a call of the model. `stop`: why no further call is made. The last reply is judged then. */
  RequestChosen: { readonly choice: Choice; readonly stop?: string };
}

/** `run`: once, and again after a restart and with another version of the agent. `step`: before each call as well. */
export type ChosenPer = "run" | "step";

/** The part of a state that a choice depends on. */
interface Choosing {
  readonly chosen?: Chosen;
  readonly restart: number;
  readonly agentVersion: string;
  readonly messages: { readonly length: number };
}

/** Whether the agent has to choose before the next call. */
export function isChoiceDue({ chosen, restart, agentVersion, messages }: Choosing, per: ChosenPer): boolean {
  if (chosen === undefined || chosen.restart !== restart || chosen.agentVersion !== agentVersion) return true;
  return per === "step" && chosen.messages !== messages.length;
}
