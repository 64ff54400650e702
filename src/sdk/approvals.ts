/** The option that says how long approvals wait for a human, of an agent and of each of its tools. */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import type { ApprovalTerms } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { APPROVAL_MS_MAX } from "../protocol/limits.ts";
import { wallMsSchema } from "./budget.ts";
import { refuseUnknown } from "./known-options.ts";

/** How long approvals wait for a human. */
export interface ApprovalOptions {
  /**
   * Milliseconds, or `90s`, `30m`, `2h`, `3d`; 29 days at most. `never`: a human is asked again every 29 days, and the run
   * does not expire meanwhile. The deadline of the agent stays. Default: a day.
   */
  readonly expires?: number | string;
  /** `deny` (default): the call is denied then. `ask`: a human is asked again, for as long. */
  readonly onExpiry?: "deny" | "ask";
}

const KNOWN: { readonly [Option in keyof ApprovalOptions]-?: true } = { expires: true, onExpiry: true };

const expires = builtOnUse(() => z.union([z.literal("never"), wallMsSchema()]));

/** The terms. Throws `AgentInvalid`. `whose`: the agent or the tool that has the option. */
export function approvalsOf(
  whose: string,
  given: ApprovalOptions | undefined,
): { readonly approvals?: Partial<ApprovalTerms> } {
  if (given === undefined) return {};
  if (typeof given !== "object" || given === null) {
    throw new AgentInvalid(
      `the approvals of ${whose}: write { expires: "3d", onExpiry: "ask" }; whether a tool needs one is its option approval`,
    );
  }
  refuseUnknown(`the approvals of ${whose}`, given, KNOWN);
  const { onExpiry } = given;
  if (onExpiry !== undefined && onExpiry !== "deny" && onExpiry !== "ask") {
    throw new AgentInvalid(`the approvals of ${whose}: onExpiry is ${String(onExpiry)}: write "deny" or "ask"`);
  }
  const parsed = expires().optional().safeParse(given.expires);
  const ms = parsed.success && parsed.data !== "never" ? parsed.data : undefined;
  if (!parsed.success || (ms !== undefined && ms > APPROVAL_MS_MAX)) {
    throw new AgentInvalid(
      `the approvals of ${whose}: expires is ${JSON.stringify(given.expires)}: write milliseconds, or a number with s, m, h ` +
        'or d, at most 29d, which is as long as a run may wait; "never" asks again every 29 days',
    );
  }
  if (parsed.data === "never" && onExpiry === "deny") {
    throw new AgentInvalid(`the approvals of ${whose}: expires is "never", so nothing is denied: leave onExpiry out`);
  }
  const expiresMs = parsed.data === "never" ? { expiresMs: null, onExpiry: "ask" as const } : ms && { expiresMs: ms };
  return { approvals: { ...(onExpiry && { onExpiry }), ...expiresMs } };
}
