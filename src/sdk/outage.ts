/**
 * The outage options of an agent: how long a run waits while its model's provider is unavailable, and which fallback
 * models answer meanwhile.
 */
import { firstIssue, parsedOption } from "./issues.ts";
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";
import { TIMES } from "../protocol/limits.ts";
import { wallMsSchema } from "./budget.ts";
import type { ModelChoice, OutagePolicy, Fallback } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import type { Price } from "../core/policy/price.ts";
import { priceFields, listPriceOf } from "./prices.ts";

/** What a run does while its model's provider is unavailable. */
export interface OutageOptions {
  /**
   * How long a run waits for an unavailable provider before it fails with `ModelUnavailable`: milliseconds, or `90s`,
   * `30m`, `24h`, `7d`. Default 24 hours, at most 30 days.
   */
  readonly outageMax?: number | string;
  /** Models that are called while the agent's own model is unavailable, in this order; at most 8. */
  readonly fallbacks?: readonly FallbackOptions[];
}

/** A fallback model and its price. */
interface FallbackOptions {
  readonly model: ModelChoice;
  /** Dollars per million tokens; default: from `cairn.config.ts`, then `prices.ts`. */
  readonly price?: Price;
}

const OUTAGE_MS = 24 * 3_600_000;

/** An outage may last at most as long as a run can be parked. */
const schema = builtOnUse(() =>
  z.strictObject({
    outageMax: wallMsSchema()
      .refine((ms) => ms <= TIMES.parkSecondsMax * 1_000, "a run waits for 30 days at most")
      .default(OUTAGE_MS),
    fallbacks: z
      .array(
        z.strictObject({
          model: z.custom<ModelChoice>((model) => model != null),
          price: z.strictObject(priceFields()).optional(),
        }),
      )
      .max(8)
      .default([]),
  }),
);

/** The outage policy with its defaults. Throws `AgentInvalid`. */
export function outagePolicyOf(agent: string, { outageMax, fallbacks }: OutageOptions): OutagePolicy {
  if (outageMax === undefined && fallbacks === undefined) return { outageMaxMs: OUTAGE_MS, fallbacks: [] };
  const parsed = parsedOption(schema(), { outageMax, fallbacks });
  if (!parsed.success) {
    throw new AgentInvalid(`agent ${agent} has ${firstIssue(parsed.error)}`);
  }
  return { outageMaxMs: parsed.data.outageMax, fallbacks: parsed.data.fallbacks.map(fallbackOf) };
}

const fallbackOf = ({ model, price }: FallbackParsed): Fallback => ({
  model,
  ...(price === undefined ? listPriceOf(model) : { price, priceFrom: { kind: "agent" } }),
});

type FallbackParsed = z.output<ReturnType<typeof schema>>["fallbacks"][number];
