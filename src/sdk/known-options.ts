/** Options that do not exist. Agent files run without a type check, and an option that is passed over has no effect. */
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { insteadOf } from "./nearest.ts";

/**
 * Throws `AgentInvalid` for the first option that is none of `known`.
 *
 * @param whose - the definition that has the option, such as `agent travel`
 */
export function refuseUnknown(whose: string, given: object, known: Readonly<Record<string, unknown>>): void {
  const unknown = Object.keys(given).find((option) => !Object.hasOwn(known, option));
  if (unknown === undefined) return;
  throw new AgentInvalid(
    `${whose} has no option ${JSON.stringify(unknown)}: ${insteadOf(unknown, Object.keys(known))}`,
  );
}
