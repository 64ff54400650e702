/** Models that an AI SDK agent gives as text: the default provider of the AI SDK calls them, which is the AI Gateway. */
import { namedModel } from "../../ports/named-models.ts";
import type { ModelChoice } from "../../ports/agent.ts";

interface DefaultProvider {
  readonly languageModel?: (id: string) => ModelChoice;
}

/** A text that cairn understands stays what it is here. Others are models of the gateway: its key is looked for when the agent is loaded. */
export function modelFrom(given: unknown): ModelChoice {
  if (typeof given !== "string") return given as ModelChoice;
  const { AI_SDK_DEFAULT_PROVIDER: own } = globalThis as { readonly AI_SDK_DEFAULT_PROVIDER?: DefaultProvider };
  if (typeof own?.languageModel === "function") return own.languageModel(given);
  return isNamed(given) ? given : `gateway:${given}`;
}

function isNamed(given: string): boolean {
  try {
    namedModel(given);
    return true;
  } catch {
    return false;
  }
}
