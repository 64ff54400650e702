/**
 * Compares a recorded run with today's code. For each recorded reply it builds the request anew from the recorded
 * transcript and today's instructions and tools. It compares that with the recorded digests
 * (`engine/model/request-digests.ts`) and calls no model. The first difference shows where a new run may diverge.
 */
import type { Agent } from "../ports/agent.ts";
import { agentInRole, requestFor } from "../engine/model/role.ts";
import { nameDigest, requestDigests } from "../engine/model/request-digests.ts";
import type { RequestDigests } from "../core/request-digests.ts";
import { withMemoryDigest } from "../features/memory/recalled.ts";
import { withoutFormat } from "../engine/model/response-format.ts";
import type { Message } from "../core/message.ts";
import type { State } from "../core/state.ts";
import { visibleMessages } from "../core/policy/window.ts";
import type { Witness } from "../features/archive/replay.ts";

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
  /** The tools that are not compared, because servers of the agent list them, and no server is asked. */
  readonly listed: Listed | null;
}

/** `tools`: how many one request had at most. `called`: the names of those that the run called; no other name is recorded. */
interface Listed {
  readonly servers: readonly string[];
  readonly tools: number;
  readonly called: readonly string[];
}

/** Compares requests during a replay, as its `witness`. */
export class RequestComparison {
  readonly #agent: Agent;
  #compared = 0;
  #unrecorded = 0;
  #differing = 0;
  #first: RequestDifference | null = null;
  readonly #models = new Set<string>();
  #listed = 0;
  readonly #called = new Set<string>();
  /** How many messages had no difference in the last equal request. */
  #alike = 0;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  get result(): Comparison {
    const counted = { compared: this.#compared, unrecorded: this.#unrecorded, differing: this.#differing };
    return { ...counted, first: this.#first, models: [...this.#models], listed: this.#notCompared };
  }

  get #notCompared(): Listed | null {
    const { sources = [] } = this.#agent;
    if (sources.length === 0) return null;
    return { servers: sources.map(({ label }) => label), tools: this.#listed, called: [...this.#called] };
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
    const isSame = is.instructions === was.instructions || this.#namesListed(state);
    const instructions = isSame ? [] : ["the instructions are different"];
    const options = is.options === was.options ? [] : ["the model options or the form of the result are different"];
    const tools = toolWhys({ was: this.#withoutListed(was.tools, { agent, messages }), is: is.tools, agent, messages });
    const words = is.messages === was.messages ? [] : [transcriptWhy(messages, this.#alike)];
    return [...instructions, ...options, ...tools, ...words];
  }

  /** Whether the instructions of the role name all tools, and so those that are not known here. */
  #namesListed(state: State): boolean {
    const { sources = [] } = this.#agent;
    return sources.length > 0 && requestFor(state, this.#agent).lists === true;
  }

  /**
   * The recorded tools without those that a server may have listed. The servers list them anew for each run, so they are
   * no part of today's code. A tool that was not called may be one of them, since only its digest is recorded.
   */
  #withoutListed(
    was: readonly string[],
    { agent, messages }: { readonly agent: Agent; readonly messages: readonly Message[] },
  ): readonly string[] {
    const { sources = [] } = agent;
    if (sources.length === 0) return was;
    const own = new Set(Object.keys(agent.tools).map(nameDigest));
    const called = new Map(calledIn(messages).map((name) => [nameDigest(name), name]));
    const isListed = (tool: string): boolean => {
      const name = called.get(mine(tool));
      return !own.has(mine(tool)) && (name === undefined || sources.some(({ prefix }) => name.startsWith(prefix)));
    };
    const listed = was.filter(isListed);
    this.#listed = Math.max(this.#listed, listed.length);
    for (const name of listed.map((tool) => called.get(mine(tool)))) if (name !== undefined) this.#called.add(name);
    return was.filter((tool) => !isListed(tool));
  }
}

/** The digest of the name, from the digest of a tool. */
const mine = (tool: string): string => tool.slice(0, nameDigest("").length);

function transcriptWhy(messages: readonly Message[], alike: number): string {
  const [first, last] = [messages[Math.min(alike, messages.length - 1)]?.id ?? "", messages.at(-1)?.id ?? ""];
  const which = first === last ? `message ${last} is` : `one or more of the messages ${first} to ${last} are`;
  return `${which} shown to the model in another way`;
}

function toolWhys({
  was,
  is,
  agent,
  messages,
}: {
  readonly was: readonly string[];
  readonly is: readonly string[];
  readonly agent: Agent;
  readonly messages: readonly Message[];
}): readonly string[] {
  const names = Object.keys(agent.tools);
  const nameOf = (tool: string): string => names[is.indexOf(tool)] ?? "";
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
