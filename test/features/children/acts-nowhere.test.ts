/** Which agents cannot act outside whatever their runs do next. */
import { expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import { actsNowhere } from "../../../src/features/children/acts-nowhere.ts";
import { Till, payer, payingBoss } from "../../support/agents/payers.ts";

const agentsOf =
  (...agents: readonly Agent[]) =>
  async (name: string) => {
    const agent = agents.find((each) => each.name === name);
    return agent === undefined ? { kind: "absent", why: "no such agent" } : { kind: "loaded", agent };
  };

const judge = (name: string, ...agents: readonly Agent[]) => actsNowhere(agentsOf(...agents) as never, name);
const worker = (effect: "none" | "unsafe"): Agent => payer({ effect, till: new Till() });
const middle = (agent = "worker"): Agent => payingBoss({ name: "middle", child: { agent } });

test("an agent acts nowhere if each of its tools has the class none, and so have those of its children", async () => {
  expect(await judge("worker", worker("none"))).toBe(true);
  expect(await judge("worker", worker("unsafe"))).toBe(false);
  expect(await judge("middle", middle(), worker("none"))).toBe(true);
  expect(await judge("middle", middle(), worker("unsafe"))).toBe(false);
  expect(await judge("middle", middle("middle"), worker("none"))).toBe(true);
});

test("an agent that cannot be loaded, and one with tools that a server lists, may act anywhere", async () => {
  expect(await judge("worker")).toBe(false);
  expect(await judge("worker", { ...worker("none"), sources: [{} as never] })).toBe(false);
});
