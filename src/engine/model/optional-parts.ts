/**
 * What providers can do without in a transcript: the reasoning of a model, and their own metadata of calls. One may refuse
 * what another one wrote. It is left out after a request was refused with it, since some need it where they wrote it.
 */
import type { Message, Part } from "../../core/message.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import type { State } from "../../core/state.ts";

const isOptional = (part: Part): boolean =>
  part.kind === "reasoning" || (part.kind === "call" && part.provider !== null);

export const hasOptionalParts = (state: State): boolean =>
  visibleMessages(state).some(({ parts }) => parts.some(isOptional));

export const withoutOptionalParts = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message) => {
    if (!message.parts.some(isOptional)) return message;
    const parts = message.parts.filter(({ kind }) => kind !== "reasoning");
    return { ...message, parts: parts.map(withoutMetadata) };
  });

const withoutMetadata = (part: Part): Part => (part.kind === "call" ? { ...part, provider: null } : part);
