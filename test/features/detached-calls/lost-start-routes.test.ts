/**
 * Lost starts of jobs that another model has than the agent's own: the models of roles in a topology, and fallbacks. An
 * unknown start is resolved there as well before a refusal counts (schedule 226).
 */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import {
  type Conversation,
  type ScriptedReply,
  debate,
  judge,
  pipeline,
  react,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import { z } from "zod";
import type { Agent, Tool, Topology } from "../../../src/ports/agent.ts";
import type { AsynchronousCalls } from "../../../src/ports/asynchronous-model.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { type ScriptedAsynchronousModel, scriptedAsynchronousModel } from "../../../src/sdk/scripted-asynchronous.ts";
import { timeline } from "../../../src/operations/views.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";
import { roleAgent } from "../../support/runs/topology-run.ts";

/** What each reply of a job says it used. The agent's own model costs nothing, so all that is debited is for jobs. */
const USED = { tokensIn: 60, tokensOut: 6 } as const;
const OWN_PRICE = { inUsd: 0, outUsd: 0 };
const PRICE = { inUsd: 1, outUsd: 10 };
const MICRO_USD_EACH = 60 + 60;

const refused = (statusCode: number): Error =>
  new APICallError({ message: `refused: ${statusCode}`, url: "http://provider", requestBodyValues: {}, statusCode });

type LostStart = "find" | "key";

/**
 * The model whose first start arrives and is not answered, and whose next starts go as `then` says. Its provider refuses
 * to look for a job as often as it refuses those.
 */
function losing(
  options: Parameters<typeof scriptedAsynchronousModel>[0],
  then: (submit: () => Promise<string>, of: { readonly isFirst: boolean; readonly start: number }) => Promise<string>,
): ScriptedAsynchronousModel {
  const model = scriptedAsynchronousModel(options);
  const { submit, find } = model.detached;
  const keys = new Set<string>();
  let starts = 0;
  const lost: AsynchronousCalls["submit"] = async (...asked) => {
    starts += 1;
    keys.add(asked[1]);
    if (starts > 1) return then(() => submit(...asked), { isFirst: keys.size === 1, start: starts });
    await submit(...asked);
    throw new Error("the connection broke");
  };
  let looks = 0;
  const seek: AsynchronousCalls["find"] =
    find &&
    (async (...asked) => {
      looks += 1;
      await then(async () => "", { isFirst: true, start: looks + 1 });
      return find(...asked);
    });
  return { ...model, detached: { ...model.detached, submit: lost, ...(seek && { find: seek }) } };
}

interface Route {
  readonly by: "role" | "fallback";
  /** How many jobs the model gets in a run without faults. */
  readonly started: number;
  readonly reply: (conversation: Conversation) => ScriptedReply;
  readonly agentWith: (model: ScriptedAsynchronousModel) => Agent;
}

const over: ScriptedReply = { text: "over", ...USED };
const own = (): ScriptedReply => ({ text: "a draft of three words" });

/** An agent whose own model answers at once, and whose topology names the asynchronous model `second`. */
const inRole =
  (topology: Topology, more: Partial<Agent> = {}, reply: Route["reply"] = own) =>
  (second: ScriptedAsynchronousModel): Agent => ({
    ...roleAgent(topology, {
      ...{ reply, price: OWN_PRICE, models: { second: { model: second, price: PRICE } } },
      ...(more.tools && { tools: more.tools }),
    }).agent,
  });

const verdict = (): ScriptedReply => ({ text: JSON.stringify({ score: 0.9, why: "good" }), ...USED });

const claims: Tool["claims"] = (result) => ({ "seat 4A is free": (result as { readonly free: boolean }).free });
const seat = (free: boolean): Tool => {
  let looked = 0;
  return tool({
    ...{ input: z.object({}), effect: "none", claims },
    run: () => ({ free, looked: (looked += 1) }),
  }) as Tool;
};

const ROUTES: Readonly<Record<string, Route>> = {
  "a worker, the stage of a pipeline": {
    ...{ by: "role", started: 1, reply: () => over },
    agentWith: inRole(
      pipeline({
        stages: [
          { name: "draft", instructions: "Draft.", model: "second" },
          { name: "print", instructions: "Print." },
        ],
      }),
    ),
  },
  "a reviewer, the gate of a stage": {
    ...{ by: "role", started: 1, reply: verdict },
    agentWith: inRole(
      pipeline({
        stages: [
          {
            ...{ name: "draft", instructions: "Draft." },
            gate: judge({ instructions: "Judge.", threshold: 0.5, model: "second" }),
          },
          { name: "print", instructions: "Print." },
        ],
      }),
    ),
  },
  "the judge of a debate": {
    ...{ by: "role", started: 1, reply: verdict },
    agentWith: inRole(
      debate({
        ...{ drafter: { instructions: "Draft." }, critic: { instructions: "Criticise." }, rounds: 1 },
        judge: { instructions: "Judge.", model: "second" },
      }),
    ),
  },
  "the arbiter of a contradiction": {
    ...{ by: "role", started: 1, reply: () => over },
    agentWith: inRole(
      react({ maxBeats: 40, onContradiction: { model: "second" } }),
      { tools: { map: seat(true), list: seat(false) } },
      ({ calls }) => ({ calls: [{ tool: calls.length % 2 === 0 ? "map" : "list", args: {} }] }),
    ),
  },
  "a fallback": {
    ...{ by: "fallback", started: 1, reply: () => over },
    agentWith: (model) => {
      const away = scriptedModel({ name: "away", reply: () => over });
      const broken = Object.assign({}, away, {
        doGenerate: () => Promise.reject(Object.assign(new Error("no connection"), { code: "ECONNREFUSED" })),
      });
      const { agent } = roleAgent(react({ maxBeats: 40 }), { reply: own, price: OWN_PRICE });
      return { ...agent, model: broken, fallbacks: [{ model, price: PRICE, priceFrom: { kind: "none" } }] };
    },
  },
};

async function told(harness: Harness, run: string) {
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  return {
    ends: events.flatMap((event) => (event.kind === "DetachedCallEnded" ? [event] : [])),
    /** How the replies of the asynchronous model were routed to it. */
    routes: events.flatMap((event) =>
      event.kind === "ModelCallCompleted" && event.model === "scripted:slow" ? [event.routed?.by] : [],
    ),
    debits: events.flatMap((event) =>
      event.kind === "BudgetDebited" && event.for.startsWith("a model job") ? [event.debit] : [],
    ),
  };
}

describe.each(Object.entries(ROUTES))("the lost start of %s", (_, route) => {
  const { by, started, reply, agentWith } = route;
  const cases = (["find", "key"] as const satisfies readonly LostStart[]).flatMap((lostStart) =>
    [400, 401, 422, 429].map((status) => [lostStart, status] as const),
  );

  test.each(cases)(
    "is resolved by %s before a refusal with %i counts: the job is read, and paid once at its own price",
    async (lostStart, status) => {
      const harness = createChainHarness();
      const model = losing({ name: "slow", reply, lostStart }, (submit, { start }) =>
        start < 4 ? Promise.reject(refused(status)) : submit(),
      );
      const agent = agentWith(model);
      const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
      await harness.runUntilIdle(agent, 200);
      const { ends, routes, debits } = await told(harness, run);
      expect(harness.row(run).status).toBe("completed");
      assertSafety("each job is read, and no other one is begun", () => {
        expect(model.started().map(({ state }) => state)).toEqual(Array(started).fill("done"));
        expect({ ends, debits }).toEqual({ ends: [], debits: [] });
        expect(routes).toEqual(Array(started).fill(by));
        expect(harness.row(run).spent.microUsd).toBe(started * MICRO_USD_EACH);
      });
    },
  );

  test("is debited at the estimate of its model once its provider refuses it for good, and the run goes on", async () => {
    const harness = createChainHarness();
    const model = losing({ name: "slow", reply, lostStart: "key" }, (submit, { isFirst }) =>
      isFirst ? Promise.reject(refused(422)) : submit(),
    );
    const agent = agentWith(model);
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runUntilIdle(agent, 400);
    const { ends, debits } = await told(harness, run);
    expect(harness.row(run).status).toBe("completed");
    assertSafety("the job that nobody can read is debited once, at the price of its model", () => {
      expect(ends).toMatchObject([{ how: "lost", why: expect.stringContaining("refused: 422") as string }]);
      expect(debits).toEqual([{ tokensIn: expect.any(Number), tokensOut: 500, microUsd: expect.any(Number) }]);
      const [{ microUsd = 0, tokensIn = 0 } = {}] = debits;
      expect(microUsd).toBe(tokensIn * PRICE.inUsd + 500 * PRICE.outUsd);
      expect(harness.row(run).spent.microUsd).toBe(microUsd + started * MICRO_USD_EACH);
      expect(model.started()).toHaveLength(started + 1);
    });
  });

  test.each(["find", "key"] as const)("is resolved by %s for a cancel, which cancels its job", async (lostStart) => {
    const harness = createChainHarness();
    const model = losing({ name: "slow", reply, lostStart }, (submit) => submit());
    const agent = agentWith(model);
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    for (let beats = 0; beats < 60 && model.started().length === 0; beats += 1) await harness.runAttempt(agent);
    await sendRequest(harness.world, { run, want: "cancel" });
    await harness.runUntilIdle(agent, 200);
    expect(harness.row(run).status).toBe("cancelled");
    const { debits } = await told(harness, run);
    assertSafety("the job is cancelled, and debited once", () => {
      expect(model.started()).toMatchObject([{ state: "cancelled" }]);
      expect(debits).toHaveLength(1);
    });
  });
});
