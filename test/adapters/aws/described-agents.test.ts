/** The names of a deployment's agents, in 256 characters. */
import { expect, test } from "vitest";
import { agentsDescribed, areDescribed, describedAs } from "../../../src/adapters/aws/described-agents.ts";

const many = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `agent-number-${index}`);

test.each([[[]], [["clerk"]], [["teller", "clerk"]]])("the agents %j are all named, sorted", (agents) => {
  const described = agentsDescribed(describedAs(agents));
  expect(described).toMatchObject({ names: agents.toSorted(), isWhole: true });
  expect(described && areDescribed(agents.toReversed(), described)).toBe(true);
});

test.each([13, 14, 15, 16, 100])(
  "of %i agents those are named that fit, and another set has another digest",
  (count) => {
    const agents = many(count);
    const text = describedAs(agents);
    expect(text.length).toBeLessThanOrEqual(256);
    const described = agentsDescribed(text);
    expect(described?.names).toEqual(agents.toSorted().slice(0, described?.names.length));
    expect(described?.isWhole).toBe(described?.names.length === count);
    expect(described && areDescribed(agents, described)).toBe(true);
    expect(described && areDescribed([...agents.slice(1), "other"], described)).toBe(false);
  },
);

test.each(["", "cairn: beat", "cairn: sweep", "agents of another program: a, b"])("%j names no agents", (text) => {
  expect(agentsDescribed(text)).toBeNull();
});
