/**
 * Compares a recorded run with today's code. For each recorded reply it builds the request anew from the recorded
 * transcript and today's instructions and tools. It compares that with the recorded digests
 * (`engine/model/request-digests.ts`) and calls no model. The first difference shows where a new run may diverge.
 */
import type { Agent } from "../ports/agent.ts";
import { agentInRole } from "../engine/model/role.ts";
import { nameDigest, requestDigests } from "../engine/model/request-digests.ts";
import type { RequestDigests } from "../core/request-digests.ts";
import { withMemoryDigest } from "../engine/model/recalled.ts";
import { withoutFormat } from "../engine/model/response-format.ts";
import type { Message } from "../core/message.ts";
import type { State } from "../core/state.ts";
import { visibleMessages } from "../core/policy/window.ts";
import type { Witness } from "../history/replay.ts";

/** A request that today's code would build differently. */
export interface RequestDifference {
  /** The version of the commit that holds the reply. */
  readonly version: number;
  /** The number of the reply within the run, from 1. */
  readonly reply: number;
  /** The differences, in words. */
  readonly whys: readonly string[];
}

/** The result of the comparison. */
export interface Comparison {
  /** How many replies have recorded digests, and how many have none. */
  readonly compared: number;
  readonly unrecorded: number;
  readonly differing: number;
  readonly first: RequestDifference | null;
  /** The models that answered. */
  readonly models: readonly string[];
}

/** Compares requests during a replay, as its `witness`. */
export class RequestComparison {
  readonly #agent: Agent;
  #compared = 0;
  #unrecorded = 0;
  #differing = 0;
  #first: RequestDifference | null = null;
  readonly #models = new Set<string>();
  /** How many messages had no difference in the last equal request. */
  #alike = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  get result(): Comparison {
    const counted = { compared: this.#compared, unrecorded: this.#unrecorded, differing: this.#differing };
    return { ...counted, first: this.#first, models: [...this.#models] };
  }

  readonly witness: Witness = (event, { before, version }) => {
    if (event.kind !== "ModelCallCompleted") return;
    this.#models.add(event.model);
    if (event.request === undefined) {
      this.#unrecorded += 1;
      return;
    }
    this.#compared += 1;
    const whys = this.#whys(event.request, before);
    if (whys.length === 0) this.#alike = visibleMessages(before).length;
    if (whys.length === 0) return;
    this.#differing += 1;
    this.#first ??= { version, reply: this.#compared + this.#unrecorded, whys };
  };

  #whys(was: RequestDigests, state: State): readonly string[] {
    const messages = visibleMessages(state);
    const inRole = agentInRole(state, this.#agent);
    const agent = state.phase === "ForceStop" ? withoutFormat(inRole) : inRole;
    const is = requestDigests(withMemoryDigest(state, agent), messages);
    const instructions = is.instructions === was.instructions ? [] : ["the instructions are different"];
    const options = is.options === was.options ? [] : ["the model options or the form of the result are different"];
    const tools = toolWhys({ was: was.tools, is: is.tools, agent, messages });
    const words = is.messages === was.messages ? [] : [transcriptWhy(messages, this.#alike)];
    return [...instructions, ...options, ...tools, ...words];
  }
}

function transcriptWhy(messages: readonly Message[], alike: number): string {
  const [first, last] = [messages[Math.min(alike, messages.length - 1)]?.id ?? "", messages.at(-1)?.id ?? ""];
  const which = first === last ? `message ${last} is` : `one or more of the messages ${first} to ${last} are`;
  return `${which} shown to the model in another way`;
}

function toolWhys(of: {
  readonly was: readonly string[];
  readonly is: readonly string[];
  readonly agent: Agent;
  readonly messages: readonly Message[];
}): readonly string[] {
  const { was, is, agent, messages } = of;
  const names = Object.keys(agent.tools);
  const nameOf = (tool: string): string => names[is.indexOf(tool)] ?? "";
  const mine = (tool: string): string => tool.slice(0, nameDigest("").length);
  const known = new Set(was.map(mine));
  const there = new Set(is.map(mine));
  const other = is.filter((tool) => !was.includes(tool));
  const changed = other.filter((tool) => known.has(mine(tool)));
  const fresh = other.filter((tool) => !known.has(mine(tool)));
  const gone = was.filter((tool) => !there.has(mine(tool)));
  // Only digests of tool names are recorded. The transcript names the tools that were called.
  const called = calledIn(messages).filter((name) => gone.some((tool) => mine(tool) === nameDigest(name)));
  const moved = other.length + gone.length === 0 && is.join() !== was.join();
  return [
    ...changed.map((tool) => `tool ${nameOf(tool)} has another description or input`),
    ...fresh.map((tool) => `tool ${nameOf(tool)} is new`),
    ...called.map((name) => `tool ${name} is gone`),
    ...(gone.length > called.length
      ? [`${gone.length - called.length} of its tools that it had not called are gone`]
      : []),
    ...(moved ? ["its tools come in another order"] : []),
  ];
}

const calledIn = (messages: readonly Message[]): readonly string[] => [
  ...new Set(messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === "call" ? [part.tool] : [])))),
];
