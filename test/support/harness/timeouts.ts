import { LIMITS } from "../gate/limits.ts";

/**
 * The timeout of tests that play many histories. Each history has its own limit in steps; this timeout ends a test that
 * hangs.
 */
export const ENUMERATION_TIMEOUT = { timeout: 2 * LIMITS.sceneMs } as const;
