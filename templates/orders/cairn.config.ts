import type { Config } from "cairn-run";

export const config = { agents: ["./agents/orders/agent.ts"] } satisfies Config;
