/** Forks in a family: a person forks one of its runs at an earlier version, in a process that may die meanwhile. */
import type { Agent } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import { forkRun } from "../../src/operations/fork.ts";
import type { Row } from "../../src/protocol/row.ts";
import type { SeededChoices } from "./seeded-choices.ts";

/** Forks that run, and says what came of it. A run that may not be forked there is forked at the next version. */
export async function forkSomewhere(
  world: World,
  forked: { readonly row: Row; readonly agent: Agent; readonly chance: SeededChoices },
): Promise<string> {
  const { row, agent, chance } = forked;
  const { run, version } = row;
  const request = { run, agent, key: null, by: "ann", confirmed: chance.oneIn(2) };
  const first = await forkRun(world, { ...request, at: chance.below(version + 1) });
  if (first.kind !== "notForkable" || first.forkable.versions.length === 0) return first.kind;
  return (await forkRun(world, { ...request, at: chance.pick(first.forkable.versions) })).kind;
}
