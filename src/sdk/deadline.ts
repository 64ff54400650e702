/** The deadline option of an agent: when each of its runs must be over, and what happens to the effects of a late run. */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import type { Agent } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { wallMsSchema } from "./budget.ts";

/** When a run must be over. It counts all time since the start: waits, pauses and process deaths too. */
export interface DeadlineOptions {
  /** How long after its start the run fails as `DeadlineExpired`: milliseconds, or `90s`, `30m`, `2h`, `1d`. */
  readonly after: number | string;
  /** `leave` (default): its effects stay. `undo`: cairn compensates them before the run ends. */
  readonly onExpiry?: "undo" | "leave";
  /** How long an expired run may compensate and wait for its child runs. Then it ends. Default `5m`. */
  readonly within?: number | string;
}

const WITHIN_MS = 5 * 60_000;

const schema = builtOnUse(() =>
  z.strictObject({
    after: wallMsSchema(),
    onExpiry: z.enum(["undo", "leave"]).default("leave"),
    within: wallMsSchema().default(WITHIN_MS),
  }),
);

/** The deadline with its defaults. Throws `AgentInvalid`. */
export function deadlineOf(agent: string, deadline: DeadlineOptions | undefined): Pick<Agent, "deadline"> {
  if (deadline === undefined) return {};
  const parsed = parsedOption(schema(), deadline);
  if (!parsed.success) {
    throw new AgentInvalid(`the deadline of agent ${agent}: ${firstIssue(parsed.error)}`);
  }
  const { after: afterMs, within: withinMs, onExpiry } = parsed.data;
  return { deadline: { afterMs, withinMs, onExpiry } };
}
