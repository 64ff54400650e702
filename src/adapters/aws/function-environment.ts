/**
 * Which variables each function of a deployment reads. `infra` gives it these and nothing else, and the diagnosis of a
 * deployment goes by the same table.
 */

/** Given only where `deploy.seal` names a key. */
const SEAL = ["CAIRN_SEAL_KMS_KEY", "CAIRN_SEAL"] as const;
const WORLD = ["CAIRN_TABLE", "CAIRN_BUCKET", "CAIRN_MACHINE", "CAIRN_BEAT_SECONDS", "CAIRN_LIMITS", ...SEAL] as const;
/** Of the functions that write what comes from outside, and have to know which secrets to keep out. */
const OUTSIDE = [...WORLD, "CAIRN_PARAMETERS"] as const;

export type FunctionVariable = (typeof OUTSIDE)[number] | "CAIRN_DEPLOYMENT";

/** By each function. */
export const READ = {
  beat: OUTSIDE,
  park: ["CAIRN_TABLE", "CAIRN_MACHINE"],
  start: OUTSIDE,
  sweep: [...WORLD, "CAIRN_DEPLOYMENT"],
  cleanup: ["CAIRN_TABLE", "CAIRN_BUCKET", "CAIRN_MACHINE"],
  api: OUTSIDE,
} as const satisfies Readonly<Record<string, readonly FunctionVariable[]>>;
