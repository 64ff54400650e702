/** The limits of a tenant, as the API applies them and answers beyond them. */
import type { World } from "../../ports/world.ts";
import type { PeriodLimits } from "../../protocol/spend-counter.ts";
import { countedBy } from "../../features/spend-caps/counters.ts";
import type { StartLimited } from "../../operations/access/start-limits.ts";
import type { AnyOperation, OperationContext } from "../../operations/operation.ts";
import { type AccessOptions, type StartLimits, limitsOfTenant } from "../../sdk/access.ts";
import { ApiProblem, problemAs } from "../problem.ts";
import type { Caller } from "./caller.ts";

type LimitReached = Extract<StartLimited, { readonly kind: "limitReached" }>;

/** What counts the starts of the caller, if its tenant has limits. */
export function countedIn(limits: AccessOptions["limits"], { tenant }: Caller): Pick<OperationContext, "counted"> {
  const { day, month } = limitsOfTenant({ ...(limits !== undefined && { limits }) }, tenant) ?? {};
  if (day === undefined && month === undefined) return {};
  const spend = {
    ...(day !== undefined && { day: inMicroUsd(day) }),
    ...(month !== undefined && { month: inMicroUsd(month) }),
  };
  return { counted: countedBy(tenant, spend) };
}

const inMicroUsd = ({ runs, usd }: StartLimits): PeriodLimits => ({
  ...(runs !== undefined && { runs }),
  ...(usd !== undefined && { microUsd: Math.round(usd * 1e6) }),
});

export const isLimitReached = (outcome: { readonly kind: string }): outcome is LimitReached =>
  outcome.kind === "limitReached" && "resetsAt" in outcome;

/** What the tenant may start or spend is used up. */
export function limitReached(
  { clock }: Pick<World, "clock">,
  operation: Pick<AnyOperation, "outcomes">,
  { why, resetsAt }: LimitReached,
): ApiProblem {
  const { trouble } = problemAs(operation, "limitReached", {
    detail: `nothing was started. ${why}`,
    facts: { outcome: { kind: "limitReached", why, resetsAt } },
  });
  return new ApiProblem({ ...trouble, headers: { "retry-after": secondsIn(resetsAt - clock.now()) } });
}

/** The tenant of the caller has sent as many requests as it may. */
export const tooManyRequests = (waitMs: number): ApiProblem =>
  new ApiProblem({
    status: 429,
    code: "TooManyRequests",
    headers: { "retry-after": secondsIn(waitMs) },
    detail:
      "the tenant has sent as many requests as it may: nothing was done; send the request again after Retry-After",
  });

/** At least a second, as the header has no smaller unit. */
const secondsIn = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)));
