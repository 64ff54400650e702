/**
 * Two words of operators that share a slot: the intent of a run, its pause, the decision of a gate, an answer, an
 * assignment, a redrive. The invocation that carries out the first word dies before or after each of its port calls, and
 * the second word comes at that moment; or it comes there, and nothing dies. `docs/sagas.md` says which word holds.
 */
import { expect, test } from "vitest";
import { z } from "zod";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { defineAgent, scriptedModel, tool } from "../../src/index.ts";
import { answerQuestion } from "../../src/operations/answer.ts";
import { assign } from "../../src/operations/assign.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { decide } from "../../src/operations/decide.ts";
import { purge } from "../../src/operations/purge.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import type { Json } from "../../src/core/json.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { approvalAgent } from "../support/agents/approval-agent.ts";
import { waitingAgent } from "../support/agents/waiting-agent.ts";
import { STRIDE } from "../support/gate/stride.ts";
import { dieInTool } from "../support/harness/chain-steps.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createChainHarness, scriptedAgent } from "../support/harness/harness.ts";
import { createCrashLoopRun } from "../support/runs/crash-loop-run.ts";
import {
  type PairOfWords as Pair,
  type Say,
  type TwoWordsScene as Scene,
  playAtEachMoment,
} from "../support/walks/second-word.ts";

const by = "ada";
const wants =
  (want: "cancel" | "pause" | "resume"): Say =>
  ({ harness, run }) =>
    sendRequest(harness.world, { run, want });
const compensates =
  (next: "cancel" | "restart"): Say =>
  ({ harness, run }) =>
    requestCompensation(harness.world, { run, next, by });
const decides =
  (as: "approve" | "deny"): Say =>
  async ({ harness, run }) => {
    const { gate } = (await show(harness.world, run))?.gates[0] ?? { gate: "c1" };
    return (await decide(harness.world, { run, gate, as, args: null, by, note: null })).kind;
  };
const reconciles =
  (as: "succeeded" | "failed"): Say =>
  async ({ harness, run }) =>
    (await reconcile(harness.world, { run, call: "c1", as, result: as, by, note: null })).kind;
const answers =
  (yes: boolean): Say =>
  async ({ harness, run }) =>
    (await answerQuestion(harness.world, { run, call: "c1", result: { yes }, by, agent: null })).kind;
const assigns =
  (to: string): Say =>
  async ({ harness, run }) =>
    (await assign(harness.world, { run, to, by })).kind;
const redrives: Say = async ({ harness, run }) => (await redrive(harness.world, { run, by, why: "mended" })).kind;
const purges: Say = async ({ harness, run }) => (await purge(harness.world, run)).kind;

/** It acts three times, one call a reply. Each effect can be undone, and one of them is done. */
async function working(): Promise<Scene> {
  const harness = createChainHarness();
  const [done, undone]: [string[], string[]] = [[], []];
  const agent = defineAgent({
    ...{ name: "actor", version: "1", instructions: "", task: z.object({}), loops: "ignore" },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => (calls.length < 3 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
    }),
    tools: {
      act: tool({
        ...{ input: z.object({}), effect: "keyed" },
        run: ({ key }) => {
          if (!done.includes(key)) done.push(key);
          return "acted";
        },
        undo: {
          effect: "keyed",
          run: (undo) => {
            if (!undone.includes(undo.of.key)) undone.push(undo.of.key);
            return "undone";
          },
        },
      }),
    },
  }) as Agent;
  const { run } = await beginRun(harness.world, agent, {});
  while (done.length === 0) await harness.runAttempt(agent);
  return { harness, agent, run, done, undone };
}

async function resting(): Promise<Scene> {
  const scene = await working();
  await wants("pause")(scene);
  await scene.harness.runUntilIdle(scene.agent);
  return scene;
}

async function idle(agent: Agent, done: readonly string[] = []): Promise<Scene> {
  const harness = createChainHarness();
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  return { harness, agent, run, done, undone: [] };
}

function gated(): Promise<Scene> {
  const done: string[] = [];
  const ran: { readonly args: Json; readonly key: string }[] = [];
  const run = (): string => {
    const { key = "" } = ran.at(-1) ?? {};
    if (!done.includes(key)) done.push(key);
    return "paid";
  };
  return idle(approvalAgent({ effect: "keyed", ran, run }), done);
}

async function unknown(): Promise<Scene> {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = scriptedAgent({ effect: "unsafe", run: ({ key }) => done.push(key) });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  harness.clock.moveTo((await show(harness.world, run))?.unknown[0]?.reconcilableFrom ?? 0);
  return { harness, agent, run, done, undone: [] };
}

/** A run that was paused at its question, and rests. */
async function pausedUnknown(): Promise<Scene> {
  const scene = await unknown();
  await wants("pause")(scene);
  await scene.harness.runUntilIdle(scene.agent);
  return scene;
}

async function failed(): Promise<Scene> {
  const { harness, agent, run, called } = await createCrashLoopRun();
  return { harness, agent, run, done: called, undone: [] };
}

const statusOf = ({ harness, run }: Scene): string => harness.row(run).status;
const eventsOf = async ({ harness, run }: Scene, kind: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).filter((event) => event.kind === kind);
const restartsOf = async (scene: Scene): Promise<number> =>
  (await eventsOf(scene, "RecoveryDecided")).filter(
    (event) => event.kind === "RecoveryDecided" && event.action.kind === "restart",
  ).length;
const resultOf = async ({ harness, run }: Scene): Promise<string> =>
  JSON.stringify((await show(harness.world, run))?.result ?? null);

const isLate = (told: string): boolean => told === "late";
const isUndone = ({ done, undone }: Scene): boolean => done.every((key) => undone.includes(key));

/** The second word is a cancel. If the run had ended before it, its sender hears that. */
const cancelHolds =
  (undoes: boolean): Pair["holds"] =>
  (scene, told) => {
    expect(statusOf(scene)).toBe(isLate(told) ? "completed" : "cancelled");
    if (undoes && !isLate(told)) expect(isUndone(scene)).toBe(true);
  };

/** What the operator said is in the ledger, and only that, whatever became of the run. */
const saidHolds =
  (as: "succeeded" | "failed", ends: readonly string[]): Pair["holds"] =>
  async (scene, told) => {
    const [first] = (await ledger(scene.harness.world, scene.run)) ?? [];
    expect({ told, first }).toMatchObject({
      told,
      first: { call: "c1", status: "reconciled", evidence: `ada says: ${as}` },
    });
    expect(await eventsOf(scene, "ToolResultReconciled")).toMatchObject([{ answer: { as } }]);
    expect(ends).toContain(isLate(told) ? "completed" : statusOf(scene));
  };

/** No decision about a gate or a question makes a cancelled run act, and none acts twice. */
const cancelledHolds =
  (most: number): Pair["holds"] =>
  (scene, told) => {
    expect({ status: isLate(told) ? "cancelled" : statusOf(scene), isDoneTooOften: scene.done.length > most }).toEqual({
      status: "cancelled",
      isDoneTooOften: false,
    });
  };

const PAIRS: { readonly [name: string]: Pair } = {
  "restart, then cancel": {
    ...{ scene: working, first: compensates("restart"), second: wants("cancel"), holds: cancelHolds(false) },
  },
  "restart, then cancel with undo": {
    ...{ scene: working, first: compensates("restart"), second: compensates("cancel"), holds: cancelHolds(true) },
  },
  "cancel, then cancel with undo": {
    ...{ scene: working, first: wants("cancel"), second: compensates("cancel") },
    holds: (scene, told) => {
      expect({ status: statusOf(scene), isLateOrUndone: isLate(told) || isUndone(scene) }).toEqual({
        status: "cancelled",
        isLateOrUndone: true,
      });
    },
  },
  "cancel with undo, then cancel": {
    ...{ scene: working, first: compensates("cancel"), second: wants("cancel") },
    holds: (scene) =>
      expect({ status: statusOf(scene), isUndone: isUndone(scene) }).toEqual({ status: "cancelled", isUndone: true }),
  },
  "cancel with undo, then restart": {
    ...{ scene: working, first: compensates("cancel"), second: compensates("restart") },
    holds: (scene, told) =>
      expect({ told, status: statusOf(scene), isUndone: isUndone(scene) }).toEqual({
        told: "late",
        status: "cancelled",
        isUndone: true,
      }),
  },
  "restart, then restart": {
    ...{ scene: working, first: compensates("restart"), second: compensates("restart") },
    holds: async (scene, told) => {
      expect(statusOf(scene)).toBe("completed");
      // One that comes after the first one took effect is another restart.
      expect(told === "accepted" ? [1, 2] : [1]).toContain(await restartsOf(scene));
    },
  },
  "restart, then pause": {
    ...{ scene: working, first: compensates("restart"), second: wants("pause") },
    holds: async (scene, told) => {
      expect(statusOf(scene)).toBe(isLate(told) ? "completed" : "paused");
      if (!isLate(told)) await wants("resume")(scene);
      await scene.harness.runUntilIdle(scene.agent);
      expect({ status: statusOf(scene), restarts: await restartsOf(scene) }).toEqual({
        status: "completed",
        restarts: 1,
      });
    },
  },
  "pause, then restart": {
    ...{ scene: working, first: wants("pause"), second: compensates("restart") },
    holds: async (scene) =>
      expect({ status: statusOf(scene), restarts: await restartsOf(scene) }).toEqual({
        status: "completed",
        restarts: 1,
      }),
  },
  "pause, then resume": {
    ...{ scene: working, first: wants("pause"), second: wants("resume") },
    holds: (scene) =>
      expect({ status: statusOf(scene), done: scene.done.length }).toEqual({ status: "completed", done: 3 }),
  },
  "resume, then pause": {
    ...{ scene: resting, first: wants("resume"), second: wants("pause") },
    holds: (scene, told) => expect(statusOf(scene)).toBe(isLate(told) ? "completed" : "paused"),
  },
  "approve, then deny": {
    ...{ scene: gated, first: decides("approve"), second: decides("deny") },
    holds: (scene) =>
      expect({ status: statusOf(scene), done: scene.done.length }).toEqual({ status: "completed", done: 1 }),
  },
  "deny, then approve": {
    ...{ scene: gated, first: decides("deny"), second: decides("approve") },
    holds: (scene) => expect({ status: statusOf(scene), done: scene.done }).toEqual({ status: "completed", done: [] }),
  },
  "reconcile as succeeded, then as failed": {
    ...{ scene: unknown, first: reconciles("succeeded"), second: reconciles("failed") },
    holds: async (scene) => {
      expect({ status: statusOf(scene), done: scene.done }).toEqual({ status: "completed", done: [] });
      expect(await eventsOf(scene, "ToolResultReconciled")).toMatchObject([{ answer: { as: "succeeded" } }]);
    },
  },
  "reconcile as failed, then as succeeded": {
    ...{ scene: unknown, first: reconciles("failed"), second: reconciles("succeeded") },
    holds: async (scene) => {
      expect(await eventsOf(scene, "ToolResultReconciled")).toMatchObject([{ answer: { as: "failed" } }]);
    },
  },
  "reconcile as succeeded, then cancel": {
    ...{ scene: unknown, first: reconciles("succeeded"), second: wants("cancel") },
    holds: saidHolds("succeeded", ["cancelled", "completed"]),
  },
  "reconcile as failed, then cancel with undo": {
    ...{ scene: unknown, first: reconciles("failed"), second: compensates("cancel") },
    holds: saidHolds("failed", ["cancelled", "completed"]),
  },
  // The restarted run may die in its own call, and ask about that.
  "reconcile as succeeded, then restart": {
    ...{ scene: unknown, first: reconciles("succeeded"), second: compensates("restart") },
    holds: saidHolds("succeeded", ["completed", "blocked"]),
  },
  "reconcile as failed while it is paused, then cancel": {
    ...{ scene: pausedUnknown, first: reconciles("failed"), second: wants("cancel") },
    holds: saidHolds("failed", ["cancelled"]),
  },
  "reconcile as succeeded while it is paused, then restart": {
    ...{ scene: pausedUnknown, first: reconciles("succeeded"), second: compensates("restart") },
    holds: saidHolds("succeeded", ["completed", "blocked"]),
  },
  "approve, then cancel": {
    ...{ scene: gated, first: decides("approve"), second: wants("cancel"), holds: cancelledHolds(1) },
  },
  "deny, then cancel": {
    ...{ scene: gated, first: decides("deny"), second: wants("cancel"), holds: cancelledHolds(0) },
  },
  "an answer, then cancel": {
    ...{ scene: () => idle(waitingAgent()), first: answers(true), second: wants("cancel"), holds: cancelledHolds(0) },
  },
  "an answer, then another one": {
    ...{ scene: () => idle(waitingAgent()), first: answers(true), second: answers(false) },
    holds: async (scene) => {
      expect({ status: statusOf(scene), result: await resultOf(scene) }).toEqual({
        status: "completed",
        result: expect.stringContaining("true"),
      });
    },
  },
  "assign, then assign": {
    ...{ scene: working, first: assigns("eve"), second: assigns("bob") },
    holds: async (scene, told) => {
      const shown = await show(scene.harness.world, scene.run);
      expect({ status: statusOf(scene), to: shown?.assigned?.to }).toEqual({
        status: "completed",
        to: isLate(told) ? "eve" : "bob",
      });
    },
  },
  "redrive, then redrive": {
    ...{ scene: failed, first: redrives, second: redrives },
    holds: async (scene, told) => {
      expect(["Late", "NotFailed"]).toContain(told);
      expect({ status: statusOf(scene), redrives: (await eventsOf(scene, "RunRedriven")).length }).toEqual({
        status: "completed",
        redrives: 1,
      });
    },
  },
  "redrive, then purge": {
    ...{ scene: failed, first: redrives, second: purges },
    holds: (scene, told) => {
      const isThere = scene.harness.world.store.rows.has(scene.run);
      expect(told).toBe(isThere ? "live" : "purged");
      if (isThere) expect(statusOf(scene)).toBe("completed");
    },
  },
};

test.each(Object.entries(PAIRS))("whatever dies, and whenever the second word comes: %s", async (name, pair) => {
  expect(await playAtEachMoment(name, pair)).toBeGreaterThanOrEqual(16 / STRIDE);
});
