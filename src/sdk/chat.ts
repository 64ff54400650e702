/**
 * Conversations: an agent whose runs wait for the next message after each answer, instead of completing. A run that waits
 * has no process and costs nothing.
 */
import * as z from "zod";
import { NEXT_MESSAGE, NEXT_MESSAGE_EVENT } from "../core/calls/next-message.ts";
import { reactTopology } from "../core/topologies/react.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { Tool, Topology } from "../ports/agent.ts";
import { durationMs } from "./duration.ts";
import { rulesOf } from "./tool-rules.ts";

export interface ChatOptions {
  /**
   * `true`: a run is a conversation. After an answer it waits for the next message, for 29 days at most, and then
   * completes with its last answer. `idle`: how long it waits, in milliseconds or as `90s`, `30m`, `2h`, `7d`. Its budget
   * counts the whole conversation. Default: a run completes with its first answer.
   */
  readonly chat?: boolean | { readonly idle?: number | string };
}

const IDLE_MS_MAX = 29 * 86_400_000;
/** Replies of one conversation, unless its topology says otherwise. */
const CHAT_BEATS_MAX = 1_000;
const BEATS_MAX = 40;

interface Given<T> extends ChatOptions {
  readonly name: string;
  readonly tools: Readonly<Record<string, T>>;
  readonly topology?: Topology;
  readonly done?: readonly unknown[];
  readonly output?: unknown;
}

/** The tools and the topology of the agent, with what a conversation needs. Throws `AgentInvalid`. */
export function chatOf<T>(options: Given<T>): {
  readonly tools: Readonly<Record<string, T>>;
  readonly topology: Topology;
} {
  const { name, tools, chat = false } = options;
  if (Object.hasOwn(tools ?? {}, NEXT_MESSAGE)) {
    throw new AgentInvalid(`agent ${name} has a tool ${NEXT_MESSAGE}, which is a name of cairn: give it another name`);
  }
  const {
    topology = reactTopology({ maxBeats: chat === false ? BEATS_MAX : CHAT_BEATS_MAX }),
    done = [],
    output,
  } = options;
  if (chat === false) return { tools, topology };
  const wrong =
    topology.kind !== "react"
      ? `the topology ${topology.kind}: only react answers message by message`
      : done.length > 0
        ? "checks of done: a conversation is done when its user says no more"
        : output !== undefined
          ? "an output: its answers are texts"
          : null;
  if (wrong !== null) throw new AgentInvalid(`agent ${name} has chat and ${wrong}`);
  const ms = idleMs(name, chat);
  return { tools: { ...tools, [NEXT_MESSAGE]: nextMessage(ms) as T }, topology };
}

function idleMs(name: string, chat: Exclude<ChatOptions["chat"], false | undefined>): number {
  const { idle = IDLE_MS_MAX } = chat === true ? {} : chat;
  const ms = typeof idle === "number" ? idle : durationMs(idle);
  if (ms !== null && Number.isSafeInteger(ms) && ms > 0 && ms <= IDLE_MS_MAX) return ms;
  throw new AgentInvalid(
    `agent ${name} has chat.idle ${JSON.stringify(idle)}: write milliseconds or a text such as "30m", "2h" or "7d", 29 days at most`,
  );
}

function nextMessage(ms: number): Tool {
  return {
    description: "Waits for the next message.",
    input: z.object({}),
    output: null,
    effect: "none",
    probe: null,
    approval: "never",
    timeoutMs: null,
    settleMs: null,
    externalId: null,
    ...rulesOf({}),
    run: () => {
      throw new Error("a tool that waits has no function of its own");
    },
    wait: {
      for: "event",
      event: () => NEXT_MESSAGE_EVENT,
      // A message of the inbox ends the wait, and no signal.
      accepts: z.never({ error: "a conversation goes on with a message: send one" }),
      until: (_, now) => now + ms,
      atLimit: { kind: "take", value: { idle: true } },
      chat: true,
    },
  };
}
