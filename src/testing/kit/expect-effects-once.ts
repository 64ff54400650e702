/** The assertion that every effect of a run happened exactly once, by the records of the services. */
import assert from "node:assert/strict";
import type { ServiceEffect } from "./fake-service.ts";
import type { AgentRun } from "./run-agent.ts";

/** What the assertion reads of a run. */
type RunWithEffects = Pick<AgentRun, "effects" | "calls" | "replaced" | "watched">;

/**
 * Throws an `AssertionError` if a service made two effects with the same subject, or if a call succeeded without an
 * effect under its key: in the service that replaces its tool, or else in one of `services`. Undone effects do not count
 * as a second one.
 */
export function expectEffectsOnce(run: RunWithEffects): void {
  const wrong = wrongEffects(run);
  if (wrong.length > 0) throw new assert.AssertionError({ message: wrong.join("\n"), actual: run.effects });
}

/** Each effect that happened too often or not at all, in words. */
export function wrongEffects({ effects, calls, replaced, watched }: RunWithEffects): readonly string[] {
  const acting = effects.filter(({ undone }) => !undone);
  const twice = [...Map.groupBy(acting, deedOf).values()].flatMap((same) =>
    same.length > 1 ? [`${inWords(same[0])} happened ${same.length} times, by keys ${keysOf(same)}`] : [],
  );
  const lost = calls.flatMap(({ call, tool, status, key, undoes }) => {
    const service = Object.hasOwn(replaced, tool) ? replaced[tool] : undefined;
    const expected = service === undefined ? servicesOf(watched, tool) : [service];
    if (expected.length === 0 || status !== "succeeded" || undoes !== undefined) return [];
    if (effects.some((effect) => expected.includes(effect.service) && effect.key === key)) return [];
    const said = `call ${call} of ${tool} succeeded, and`;
    if (service !== undefined) return [`${said} ${service} has no effect of its key ${key}`];
    const names = expected.join(" and ");
    return [
      `${said} no given service (${names}) has an effect of its key ${key}: let ${tool} call a fake service with the ` +
        `key of its context, or pass tools: { ${tool}: fakeService(...) }`,
    ];
  });
  return [...twice, ...lost];
}

/** The services of which one must have the effect of a call of the agent's own tool. */
const servicesOf = ({ tools, services }: AgentRun["watched"], tool: string): readonly string[] =>
  tools.includes(tool) ? services : [];

const deedOf = ({ service, subject }: ServiceEffect): string => JSON.stringify([service, subject]);
const inWords = (effect: ServiceEffect | undefined): string => `${effect?.service}: ${effect?.subject}`;
const keysOf = (effects: readonly ServiceEffect[]): string => effects.map(({ key }) => key).join(", ");
