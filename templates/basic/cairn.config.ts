import type { Config } from "cairn-run";

export const config = { agents: ["./agents/refunds/agent.ts"] } satisfies Config;
