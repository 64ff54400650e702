import * as z from "zod";
import { type CancelledAll, cancelAll } from "./cancel-all.ts";
import { operation, reason, respond } from "./operation.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import type { Syntaxes } from "./syntax.ts";

export const cancelAllOperation = operation({
  scope: "runs:write",
  writes: true,
  typed: [{ command: "cancel", option: "--all" }],
  help: "cancel every live run of an agent; shows them first",
  input: z.strictObject({ agent: z.string(), confirmed: z.boolean().default(false), why: reason }),
  run: ({ world, tenant }, input): Promise<CancelledAll> => cancelAll(world, { ...input, tenant }),
  outcomes: {
    cancelled: respond.done("They are asked to end; `more`: the same request again goes on with further runs."),
    notConfirmed: respond.unconfirmed("It has to be confirmed; the answer names the runs."),
  },
  over: ["store", "http"],
  http: { method: "post", path: "/agents/{agent}/cancel-all", repeatable: true },
});

export const cancelAllSyntax = (): Syntaxes => ({
  "cancel --all": {
    flags: [
      { flag: "--all", help: cancelAllOperation.help },
      { flag: "--agent <agent>", help: "with --all: whose runs" },
      { flag: "--tenant <tenant>", help: "with --all: of which tenant", default: DEFAULT_TENANT },
      { flag: "--yes", help: "with --all: do not ask", fills: "confirmed" },
    ],
  },
});
