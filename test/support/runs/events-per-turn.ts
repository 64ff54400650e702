/**
 * Counts the events that this process handles in one turn of the event loop: those in each JSON that is parsed or made.
 * Whatever reads a history decodes it, and whatever answers with it encodes it, so a new operation is counted too.
 */
import { onTestFinished } from "vitest";
import { KERNEL } from "../../../src/features/compose.ts";

const NAMES: ReadonlySet<string> = new Set(Object.keys(KERNEL.rows));

function eventsIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const { kind } = value as { readonly kind?: unknown };
  if (typeof kind === "string" && NAMES.has(kind)) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + eventsIn(each), 0);
}

/** From now until the end of the test. `most`: the most events of a turn since the last call. */
export function countEventsPerTurn(): { readonly most: () => number } {
  const { parse, stringify } = JSON;
  let [inTurn, most, isOver] = [0, 0, false];
  JSON.parse = (...args: Parameters<typeof parse>): unknown => {
    const value: unknown = parse(...args);
    inTurn += eventsIn(value);
    return value;
  };
  JSON.stringify = ((value: unknown, ...rest: []): string => {
    inTurn += eventsIn(value);
    return stringify(value, ...rest);
  }) as typeof stringify;
  const endTurn = (): void => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  onTestFinished(() => {
    isOver = true;
    [JSON.parse, JSON.stringify] = [parse, stringify];
  });
  return {
    most: () => {
      const found = Math.max(most, inTurn);
      [most, inTurn] = [0, 0];
      return found;
    },
  };
}
