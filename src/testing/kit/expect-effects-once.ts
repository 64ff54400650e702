/** The assertion that every effect of a run happened exactly once, by the records of the services. */
import assert from "node:assert/strict";
import type { ServiceEffect } from "./fake-service.ts";
import type { AgentRun } from "./run-agent.ts";

/**
 * Throws an `AssertionError` if a service made two effects with the same subject, or if a call of a replaced tool
 * succeeded without an effect. Undone effects do not count.
 */
export function expectEffectsOnce(run: Pick<AgentRun, "effects" | "calls" | "replaced">): void {
  const wrong = wrongEffects(run);
  if (wrong.length > 0) throw new assert.AssertionError({ message: wrong.join("\n"), actual: run.effects });
}

/** Each effect that happened too often or not at all, in words. */
export function wrongEffects({
  effects,
  calls,
  replaced,
}: Pick<AgentRun, "effects" | "calls" | "replaced">): readonly string[] {
  const acting = effects.filter(({ undone }) => !undone);
  const twice = [...Map.groupBy(acting, deedOf).values()].flatMap((same) =>
    same.length > 1 ? [`${inWords(same[0])} happened ${same.length} times, by keys ${keysOf(same)}`] : [],
  );
  const lost = calls.flatMap(({ call, tool, status, key, undoes }) => {
    const service = Object.hasOwn(replaced, tool) ? replaced[tool] : undefined;
    if (service === undefined || status !== "succeeded" || undoes !== undefined) return [];
    const isThere = effects.some((effect) => effect.service === service && effect.key === key);
    return isThere ? [] : [`call ${call} of ${tool} succeeded, and ${service} has no effect of its key ${key}`];
  });
  return [...twice, ...lost];
}

const deedOf = ({ service, subject }: ServiceEffect): string => JSON.stringify([service, subject]);
const inWords = (effect: ServiceEffect | undefined): string => `${effect?.service}: ${effect?.subject}`;
const keysOf = (effects: readonly ServiceEffect[]): string => effects.map(({ key }) => key).join(", ");
