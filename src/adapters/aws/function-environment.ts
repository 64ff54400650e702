/**
 * Which variables each function of a deployment reads. `infra` gives it these and nothing else, and the diagnosis of a
 * deployment goes by the same table.
 */

/** Given only where `deploy.seal` names a key. */
const SEAL = ["CAIRN_SEAL_KMS_KEY", "CAIRN_SEAL"] as const;
/** Given only where `deploy.statusShards` is above 1. */
const SHARDS = "CAIRN_STATUS_SHARDS";
const STORES = ["CAIRN_TABLE", "CAIRN_BUCKET", "CAIRN_MACHINE"] as const;
const WORLD = [...STORES, "CAIRN_BEAT_SECONDS", "CAIRN_LIMITS", SHARDS, ...SEAL] as const;
/** Of the functions that write what comes from outside, and have to know which secrets to keep out. */
const OUTSIDE = [...WORLD, "CAIRN_PARAMETERS"] as const;

/** Given only where `access` of the config, or of the component, says how callers are identified. */
const ACCESS = "CAIRN_ACCESS";

/** Given only where the config names webhooks: beats note what happened, and the sweep delivers it. */
const WEBHOOKS = "CAIRN_WEBHOOKS";

/** Given only where the config names webhooks: the function that beats ask to deliver at once. */
const SWEEP = "CAIRN_SWEEP";

export type FunctionVariable =
  | (typeof OUTSIDE)[number]
  | typeof ACCESS
  | typeof WEBHOOKS
  | typeof SWEEP
  | "CAIRN_DEPLOYMENT";

/** By each function. */
export const READ = {
  beat: [...OUTSIDE, WEBHOOKS, SWEEP],
  park: ["CAIRN_TABLE", "CAIRN_MACHINE"],
  start: OUTSIDE,
  sweep: [...OUTSIDE, WEBHOOKS, "CAIRN_DEPLOYMENT"],
  cleanup: STORES,
  api: [...OUTSIDE, ACCESS],
  events: [...WORLD, ACCESS],
} as const satisfies Readonly<Record<string, readonly FunctionVariable[]>>;
