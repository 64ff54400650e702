/** The error for an agent that no file of the config has. */
import { expect, test } from "vitest";
import { agentNameUnknown } from "../../src/compose/catalogue.ts";
import { scriptedAgent } from "../support/harness/harness.ts";

const agent = { ...scriptedAgent({}), name: "clerk" };
const located = { agent, file: "/p/clerk.ts" };
const broken = {
  file: "/p/boss.ts",
  why: "agent file /p/boss.ts cannot be loaded: no model",
  cause: new Error("no model"),
};
const nextFor = (name: string, brokenFiles: readonly (typeof broken)[]): string => {
  const catalogue = { agents: [located], broken: brokenFiles };
  const instead = (other: string): string => `npx cairn start ${other}`;
  return agentNameUnknown({ name, catalogue, hasConfig: true, instead }).trouble.next;
};

test("names the agent that was meant, and the broken file where the agent may be in it", () => {
  expect(nextFor("boss", [])).toBe("npx cairn start clerk");
  expect(nextFor("boss", [broken])).toBe("npx cairn start boss  # after you correct that file");
  expect(nextFor("clark", [broken])).toBe("npx cairn start clerk");
});
