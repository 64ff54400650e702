/** Checks an agent for the world of the settings. */
import { ModelNotReady, namedModelsOf } from "../ports/named-models.ts";
import { checkAgent } from "../sdk/check.ts";
import type { Settings } from "./settings.ts";

/** Throws `AgentInvalid` with the first problem that its runs would have there. */
export const checkHere = (
  agent: Parameters<typeof checkAgent>[0],
  { limits, world }: Pick<Settings, "limits" | "world">,
) => checkAgent(agent, limits, { isFunction: world.agents.kind === "deployed" });

/** @throws ModelNotReady as `withoutGatewayKey` says it */
export async function requireGatewayKey(...asked: Parameters<typeof withoutGatewayKey>): Promise<void> {
  const missing = await withoutGatewayKey(...asked);
  if (missing !== null) throw missing;
}

/**
 * Why the agent cannot be called, if it has a model of the AI Gateway and no key for it is found; else null. An agent of the
 * AI SDK gets such a model by writing a text, so nothing in its file says that a key is needed.
 */
export async function withoutGatewayKey(
  agent: Parameters<typeof namedModelsOf>[0],
  { world }: { readonly world: Pick<Settings["world"], "findSecret"> },
): Promise<ModelNotReady | null> {
  const model = namedModelsOf(agent).find(({ provider }) => provider === "gateway");
  if (model === undefined) return null;
  const look = await world.findSecret(model.secret);
  if (look.kind === "found") return null;
  const why = `the AI SDK sends the model ${model.name.replace("gateway:", "")} to the AI Gateway, and ${model.secret} is not in ${look.where}`;
  return new ModelNotReady(`${why}; ${look.mend}, or give the agent a model object`, {
    code: "ModelNotConfigured",
    next: look.mend,
  });
}
