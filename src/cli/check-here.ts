/** Checks an agent for the world of the settings. */
import { checkAgent } from "../sdk/check.ts";
import type { Settings } from "./settings.ts";

/** Throws `AgentInvalid` with the first problem that its runs would have there. */
export const checkHere = (
  agent: Parameters<typeof checkAgent>[0],
  { limits, world }: Pick<Settings, "limits" | "world">,
) => checkAgent(agent, limits, { isFunction: world.agents.kind === "deployed" });
