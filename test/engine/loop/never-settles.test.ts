/**
 * Each function of a user or of a foreign server, in a run in which it never answers. That is no death: every beat ends in
 * its time, nothing is paid that was not asked, and the record says what did not answer.
 */
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { check, defineAgent, pipeline, scriptedModel } from "../../../src/index.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { Runner } from "../../../src/engine/context/runner.ts";
import { show } from "../../../src/operations/views.ts";
import type { ScriptedAsynchronousModel } from "../../../src/sdk/scripted-asynchronous.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { createHarness, neverSettles, scriptedAgent } from "../../support/harness/harness.ts";
import { playAttempts, silentAt, sourceOf, waitsForCode } from "../../support/harness/silent-code.ts";
import { MAY_BE_ASYNCHRONOUS } from "../../support/rules/user-functions.ts";

interface Scene {
  readonly agent: Agent;
  readonly runner?: (runner: Runner) => Runner;
  /** What the timeline or the view of the run says. */
  readonly says: RegExp;
  /** No model was asked. */
  readonly pays?: "nothing";
}

const probed = (probe: () => unknown): Agent => {
  const agent = scriptedAgent({ effect: "probed", run: neverSettles, probe: probe as never, timeoutMs: 300 });
  return agent;
};

const withTool = (agent: Agent, change: Partial<Tool>): Agent => ({
  ...agent,
  tools: { act: { ...(agent.tools["act"] as Tool), ...change } },
});

const remembering = (memory: NonNullable<Parameters<typeof defineAgent>[0]["memory"]>): Agent =>
  defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}), tools: {}, memory: memory as never },
    model: scriptedModel({ name: "script", reply: () => ({ text: "over" }) }),
  }) as Agent;

const muteDetached = (mute: "submit" | "poll" | "find" | "cancel"): Agent => {
  const { agent, model } = asynchronousAgent({ pending: 3 });
  const detached: ScriptedAsynchronousModel["detached"] = { ...model.detached, [mute]: neverSettles };
  // A job is looked for after the answer to its start was lost, and cancelled when its time is over.
  const lost = mute === "find" ? { ...detached, submit: () => Promise.reject(new Error("lost")) } : detached;
  const timed = mute === "cancel" ? { deadline: { afterMs: 2_000, withinMs: 1_000, onExpiry: "leave" as const } } : {};
  return { ...agent, ...timed, model: { ...model, detached: lost } as never };
};

/** By the member of `MAY_BE_ASYNCHRONOUS`. */
const SCENES: Readonly<Record<string, () => Scene>> = {
  agentOf: () => ({
    agent: scriptedAgent({}),
    runner: (runner) => ({ ...runner, agentOf: neverSettles }),
    says: /its module is still loading: no answer within \d+ ms; look for an await at its top level/,
    pays: "nothing",
  }),
  list: () => ({
    agent: { ...scriptedAgent({}), sources: [sourceOf(neverSettles)] },
    says: /the tools of its servers are not known: MCP server mute gave no answer within \d+ ms/,
    pays: "nothing",
  }),
  approval: () => ({
    agent: scriptedAgent({ approval: neverSettles }),
    says: /its approval policy gave no answer within \d+ ms/,
  }),
  before: () => ({
    agent: withTool(scriptedAgent({ effect: "probed", probe: () => ({ kind: "absent" }), timeoutMs: 300 }), {
      before: neverSettles,
    }),
    says: /its before-image could not be recorded: no answer within 300 ms/,
  }),
  run: () => ({ agent: scriptedAgent({ run: neverSettles, timeoutMs: 300 }), says: /no answer within 300 ms/ }),
  probe: () => ({ agent: probed(neverSettles), says: /the probe gave no answer in time/ }),
  holds: () => ({
    agent: scriptedAgent({ done: [check("paid", neverSettles)] as never }),
    says: /paid.*it gave no verdict in time/s,
  }),
  functions: () => ({
    agent: defineAgent({
      ...{ name: "actor", version: "1", instructions: "", task: z.object({}), tools: {} },
      model: scriptedModel({ name: "script", reply: () => ({ text: "over" }) }),
      topology: pipeline({ stages: [{ name: "write", instructions: "Write.", gate: neverSettles }] } as never),
    }) as Agent,
    says: /it gave no verdict in time/,
  }),
  choose: () => ({
    agent: { ...scriptedAgent({}), chooser: { per: "run", choose: neverSettles } },
    says: /ChoiceFailed.*no answer within/s,
    pays: "nothing",
  }),
  recall: () => ({ agent: remembering({ recall: neverSettles } as never), says: /completed/ }),
  learn: () => ({ agent: remembering({ learn: neverSettles } as never), says: /completed/ }),
  ask: () => ({ agent: scriptedAgent({ reply: neverSettles }), says: /no reply within \d+ ms/ }),
  submit: () => ({ agent: muteDetached("submit"), says: /./ }),
  poll: () => ({ agent: muteDetached("poll"), says: /./ }),
  find: () => ({ agent: muteDetached("find"), says: /./ }),
  cancel: () => ({ agent: muteDetached("cancel"), says: /./ }),
};

describe("a run goes on, and no process dies, while what never answers is", () => {
  test.each(MAY_BE_ASYNCHRONOUS)("$played", async ({ member }) => {
    const scene = SCENES[member]?.();
    if (scene === undefined) throw new Error(`there is no scene for ${member}`);
    const harness = createHarness();
    const { row, took, timeline } = await playAttempts(harness, scene.agent, scene.runner);
    const { beatMs, drainMs } = harness.world.limits;
    assertSafety("each beat ends in its time, and none is a death", () => {
      expect(Math.max(...took)).toBeLessThanOrEqual(beatMs - drainMs / 2);
      expect({ deaths: row.deaths, takeovers: row.takeovers }).toEqual({ deaths: 0, takeovers: 0 });
    });
    expect(took.length).toBeGreaterThan(0);
    const shown = (await show(harness.world, row.run)) as { readonly spent: unknown };
    expect(`${timeline} ${JSON.stringify(shown)}`).toMatch(scene.says);
    if (scene.pays === "nothing") assertSafety("nothing was paid", () => expect(shown.spent).toEqual(NOTHING));
  });
});

test("a run waits without a process, and pays nothing, while the store of its secrets never answers", async () => {
  const harness = createHarness();
  const secrets = { get: neverSettles, declare: neverSettles, declared: neverSettles };
  const agent = { ...scriptedAgent({}), secrets: ["TOKEN"] };
  const mute = (runner: Runner): Runner => ({ ...runner, world: { ...runner.world, secrets } });
  const { row, took, timeline } = await playAttempts(harness, agent, mute);
  const { beatMs, drainMs } = harness.world.limits;
  assertSafety("each beat ends in its time, and none is a death", () => {
    expect(Math.max(...took)).toBeLessThanOrEqual(beatMs - drainMs / 2);
    expect({ deaths: row.deaths, takeovers: row.takeovers }).toEqual({ deaths: 0, takeovers: 0 });
  });
  expect(timeline).toMatch(/its secrets cannot be read: the store of secrets gave no answer within \d+ ms/);
  const shown = (await show(harness.world, row.run)) as { readonly spent: unknown };
  assertSafety("nothing was paid", () => expect(shown.spent).toEqual(NOTHING));
});

const NOTHING = { usd: 0, tokensIn: 0, tokensOut: 0 };

test("a run goes on as soon as its silent server answers", async () => {
  const harness = createHarness();
  const played = await playAttempts(harness, silentAt({ agent: scriptedAgent({}), silent: (n) => n <= 2 }));
  expect({ status: played.row.status, waitsForCode: waitsForCode(played), deaths: played.row.deaths }).toEqual({
    status: "completed",
    waitsForCode: 1,
    deaths: 0,
  });
});
