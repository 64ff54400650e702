/**
 * What is to be deployed, as far as it does not come from code: the options of `cairn.config.ts` with their defaults, the
 * bundles that were made of the functions, and the schedules of the agents. Plain values: they are made by another process
 * (`scripts/plan.ts`), since whoever describes resources cannot load agents.
 */
import type { Config, DeployOptions } from "../src/agent/config.ts";
import { type Limits, limitsFor } from "../src/protocol/limits.ts";
import type { Bundle } from "./bundle.ts";
import type { DeployedSchedule } from "./schedules.ts";

export interface Plan {
  /** Where each function's files lie, by its name; absolute. */
  readonly folders: Readonly<Record<string, string>>;
  readonly schedules: readonly DeployedSchedule[];
  /** Names of all secrets that the agents may come to know. */
  readonly secrets: readonly string[];
  readonly beatSeconds: number;
  /** Changes of single limits. */
  readonly limits: Partial<Limits>;
  readonly options: Options;
}

/** Those of `cairn.config.ts`, with defaults for what it does not say; null is *not at all*. */
export interface Options extends Required<Omit<DeployOptions, "beatsPerInvocation" | "concurrencyMax" | "alarmEmail">> {
  readonly concurrencyMax: number | null;
  readonly alarmEmail: string | null;
}

/** How long Lambda lets each function live; a beat is as long as its agents need. */
export const SECONDS = { park: 30, start: 60, sweep: 120, cleanup: 60, api: 29 } as const;

export const secondsOf = (fn: keyof typeof SECONDS | "beat", { beatSeconds }: Pick<Plan, "beatSeconds">): number =>
  fn === "beat" ? beatSeconds : SECONDS[fn];

/** How long the machine leaves a run alone whose beats keep dying. */
export const rescueSecondsOf = ({ beatSeconds, limits }: Pick<Plan, "beatSeconds" | "limits">): number =>
  Math.ceil(limitsFor(beatSeconds * 1_000, limits).rescueMs / 1_000);

const BEAT_SECONDS = 60;

export function planOf(
  { beatSeconds = BEAT_SECONDS, deploy = {} }: Pick<Config, "beatSeconds" | "deploy">,
  bundles: readonly Pick<Bundle, "name" | "folder">[],
  of: { readonly schedules?: readonly DeployedSchedule[]; readonly secrets?: readonly string[] } = {},
): Plan {
  if (!Number.isInteger(beatSeconds)) throw new Error(`beatSeconds is ${beatSeconds}: Lambda takes whole seconds`);
  const { memoryMb = 512, logRetention = "1 month", sweepMinutes = 5, env = {}, beatsPerInvocation } = deploy;
  return {
    folders: Object.fromEntries(bundles.map(({ name, folder }) => [name, folder])),
    ...{ schedules: of.schedules ?? [], secrets: of.secrets ?? [], beatSeconds },
    limits: beatsPerInvocation === undefined ? {} : { beatsPerInvocation },
    options: {
      ...{ memoryMb, logRetention, sweepMinutes, env },
      concurrencyMax: deploy.concurrencyMax ?? null,
      alarmEmail: deploy.alarmEmail ?? null,
    },
  };
}
