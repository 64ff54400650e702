import { RESPONSES, operation, reason, runInput } from "./operation.ts";
import { acceptUpgrade } from "./upgrade.ts";
import type { Syntaxes } from "./syntax.ts";

export const upgradeOperation = operation({
  scope: "approve",
  writes: true,
  typed: [{ command: "resume", option: "--upgrade" }],
  help: "accept the agent version that the run waits for",
  input: runInput.extend({ why: reason }),
  run: ({ world, by }, input) => acceptUpgrade(world, { ...input, by }),
  outcomes: {
    accepted: RESPONSES.accepted,
    duplicate: RESPONSES.duplicate,
    stale: RESPONSES.stale,
    late: RESPONSES.late,
    missing: RESPONSES.missing,
  },
  over: ["store", "http"],
  http: { method: "post", path: "/runs/{run}/upgrade" },
});

export const upgradeSyntax = (): Syntaxes => ({
  "resume --upgrade": { flags: [{ flag: "--upgrade", help: upgradeOperation.help }] },
});
