/** Every feature that takes part in simulated faults. */
import type { Simulated } from "../history.ts";
import { type ObservedHistory, observeHistory } from "../observed-history.ts";
import type { Feature } from "./feature.ts";
import { CAP } from "./cap.ts";
import { CHATS } from "./chats.ts";
import { BATCHES } from "./batches.ts";
import { MEMORY } from "./memory.ts";
import { WAITS } from "./waits.ts";
import { WEBHOOKS } from "./webhooks.ts";

const FEATURES: readonly (readonly [name: string, feature: Feature])[] = [
  ["waits", WAITS],
  ["batches", BATCHES],
  ["memory", MEMORY],
  ["cap", CAP],
  ["webhooks", WEBHOOKS],
  ["chats", CHATS],
];

export const FEATURE_CELLS: readonly string[] = FEATURES.flatMap(([, { cells }]) => cells);

export const featureCells = (seen: ObservedHistory): readonly string[] =>
  FEATURES.flatMap(([, { isIn, met }]) => (isIn(seen.history) ? met(seen) : []));

export function wrongWithFeatures(history: Simulated): readonly string[] {
  const present = FEATURES.filter(([, { isIn }]) => isIn(history));
  if (present.length === 0) return [];
  const seen = observeHistory(history);
  return present.flatMap(([name, { wrong }]) => wrong(seen).map((what) => `${name}: ${what}`));
}
