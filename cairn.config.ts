/** The one file that a user edits: which agents there are, and how they run. */
import type { Config } from "./src/sdk/config.ts";

export const config = {
  agents: [
    "./agents/travel/agent.ts",
    "./agents/invoice/agent.ts",
    "./agents/event/agent.ts",
    "./agents/letter/agent.ts",
    "./agents/compare/agent.ts",
    "./agents/yearly/agent.ts",
    "./agents/literature-review/agent.ts",
  ],
} satisfies Config;
