import type { Config } from "cairn-run";

export const config = { agents: ["./agents/digest/agent.ts"] } satisfies Config;
