/** How long user code keeps the virtual clock of the testing kit from moving. The real time is a number of the test. */
import { z } from "zod";
import { expect, test } from "vitest";
import { seededRandom, virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { defineAgent } from "../../src/index.ts";
import { startRun } from "../../src/operations/start.ts";
import { DEFAULT_TENANT } from "../../src/core/ids.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { modelsOf } from "../../src/providers/model.ts";
import { scriptedModel } from "../../src/testing/kit/index.ts";
import { TestProcess } from "../../src/testing/kit/test-process.ts";
import { PATIENCE_MS, UserWork } from "../../src/testing/kit/user-work.ts";

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const START = 1_700_000_000_000;

test("work that follows slow work without a pause holds the clock as long as any other", async () => {
  let real = 0;
  const work = new UserWork(() => real);
  const [slow, next] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const both = work.during(() => slow.promise).then(() => work.during(() => next.promise));
  real = PATIENCE_MS + 1;
  expect(work.holdsClock).toBe(false);
  slow.resolve();
  await nextTurn();
  expect(work.holdsClock).toBe(true);
  real += PATIENCE_MS + 1;
  expect({ holdsClock: work.holdsClock, isAny: work.isAny }).toEqual({ holdsClock: false, isAny: true });
  next.resolve();
  await both;
  expect(work.isAny).toBe(false);
});

test("work that hangs for good takes no patience from the work beside it", () => {
  let real = 0;
  const work = new UserWork(() => real);
  void work.during(() => new Promise(() => undefined));
  real = PATIENCE_MS + 1;
  void work.during(() => new Promise(() => undefined));
  expect(work.holdsClock).toBe(true);
});

test("a model call after the slow list of a server does not time out", async () => {
  let real = 0;
  let asked = 0;
  const clock = virtualClock(START);
  const world = withKernel(memoryWorld({ clock, limits: limitsFor(60_000), random: seededRandom("slow list") }));
  const list = async () => {
    real += PATIENCE_MS + 1;
    return {};
  };
  const agent = {
    ...defineAgent({
      ...{ name: "reader", version: "1", instructions: "Read.", task: z.object({}), tools: {}, budget: { beats: 3 } },
      model: scriptedModel({
        name: "reader-model",
        reply: async () => {
          asked += 1;
          // The reply takes some turns of the event loop, and no real time.
          for (let turn = 0; turn < 20; turn += 1) await nextTurn();
          return { text: "It is read." };
        },
      }),
    }),
    sources: [{ label: "MCP server slow", prefix: "slow_", timeoutMs: null, startsProcess: false, list }],
  };
  await startRun(world, { agent, input: {}, files: [], tenant: DEFAULT_TENANT, idempotencyKey: "k" });
  const [name = ""] = world.chain.ready(clock.now());
  const process = new TestProcess({
    ...{ world, clock, onMoment: () => false, realNow: () => real },
    agentOf: () => ({ kind: "agent", agent, ...modelsOf(agent) }),
  });
  await process.perform(world.chain.begin(name).task);
  expect({ asked, passedMs: clock.now() - START }).toEqual({ asked: 1, passedMs: 0 });
});
