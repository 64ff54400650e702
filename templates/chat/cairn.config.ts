import type { Config } from "cairn-run";

export const config = { agents: ["./agents/support/agent.ts"] } satisfies Config;
