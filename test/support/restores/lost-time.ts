/**
 * A store with mixed runs, its backup, the time that is lost, and the restore: plain runs, bosses with workers, keyed
 * starts and firings of a schedule. Half of the models word their replies differently after the restore.
 */
import { z } from "zod";
import { seededRandom, type VirtualClock, virtualClock } from "../../../src/adapters/memory/clock.ts";
import { memoryStore, type MemoryStore } from "../../../src/adapters/memory/tables.ts";
import { withKernel } from "../../../src/features/compose.ts";
import { type MemoryWorld, memoryWorld } from "../../../src/adapters/memory/world.ts";
import { type Conversation, type ScriptedReply, childTool, defineAgent, scriptedModel } from "../../../src/index.ts";
import type { Json } from "../../../src/core/json.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import { hasEnded } from "../../../src/protocol/row.ts";
import { fire } from "../../../src/features/schedules/fire.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { fenceRestored } from "../../../src/operations/restored.ts";
import { startRun } from "../../../src/operations/start.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { AT } from "../states/states-and-events.ts";
import { sweep } from "../harness/chain-steps.ts";
import { type Harness, harnessOf, MS } from "../harness/harness.ts";
import { killableWorld } from "../harness/drive.ts";
import { type Services, type ToolName, createServices } from "./services.ts";

/** A sequence of small numbers that a seed determines. */
export interface Dice {
  /** From 0 to `sides - 1`. */
  roll(sides: number): number;
}

const TASK = z.object({ id: z.string(), steps: z.array(z.string()), isFickle: z.boolean() });

interface Scene {
  readonly services: Services;
  readonly agents: readonly Agent[];
  readonly clock: VirtualClock;
  harness: Harness;
  /** After the restore the models of fickle runs word their replies differently. */
  hasRestored: boolean;
}

/** The words that a model puts into its calls: those of a fickle run change with the restore. */
const wordsIn = (scene: Pick<Scene, "hasRestored">, isFickle: boolean): string =>
  scene.hasRestored && isFickle ? "in other words" : "as always";

export function createScene(seed: string): Scene {
  const services = createServices();
  const clock = virtualClock(AT);
  const limits = limitsFor(MS.beat, { settleMs: MS.settle, skewMs: MS.skew });
  const random = seededRandom(seed);
  const world = withKernel(memoryWorld({ clock, limits, random }));
  const scene: Scene = {
    ...{ services, clock, harness: harnessOf({ world, clock, wakes: [], alarms: [] }), hasRestored: false },
    agents: [clerk("clerk", services, () => scene), clerk("daily", services, () => scene), boss(() => scene)],
  };
  return scene;
}

function clerk(name: string, services: Services, sceneOf: () => Scene): Agent {
  const reply = ({ task, calls }: Conversation): ScriptedReply => {
    const { id, steps, isFickle } = TASK.parse(task.json);
    const step = steps[calls.length];
    if (step === undefined) return { text: "over" };
    const args = { order: `${id}-${calls.length}`, words: wordsIn(sceneOf(), isFickle) };
    return { calls: [{ tool: step, args }] };
  };
  const agent = defineAgent({
    ...{ name, version: "1", instructions: "", task: TASK, loops: "ignore" },
    model: scriptedModel({ name: "script", reply }),
    tools: { ...services.tools },
  }) as Agent;
  const input = { id: "daily", steps: ["pay", "mail", "ship"], isFickle: true };
  return name === "daily"
    ? { ...agent, schedule: { every: "rate(1 hour)", timezone: "UTC", input, overlap: "allow", missed: "latest" } }
    : agent;
}

function boss(sceneOf: () => Scene): Agent {
  const reply = ({ task, calls }: Conversation): ScriptedReply => {
    const { id, steps, isFickle } = TASK.parse(task.json);
    if (calls.length > 0) return { text: "over" };
    const note = wordsIn(sceneOf(), isFickle);
    return { calls: [0, 1].map((part) => ({ tool: "ask", args: { id: `${id}w${part}`, steps, isFickle, note } })) };
  };
  return defineAgent({
    ...{ name: "boss", version: "1", instructions: "", task: TASK, loops: "ignore", budget: { beats: 200 } },
    model: scriptedModel({ name: "script", reply }),
    tools: {
      ask: childTool({
        ...{ agent: "clerk", description: "asks a clerk", budget: { beats: 12 } },
        input: TASK.extend({ note: z.string() }),
      }),
    },
  }) as Agent;
}

export interface KeyedStart {
  readonly agent: string;
  readonly key: string | null;
  readonly input: Json;
}

export async function startIn(scene: Scene, { agent: name, key, input }: KeyedStart): Promise<string> {
  const agent = scene.agents.find((each) => each.name === name) as Agent;
  const started = await startRun(scene.harness.world, { agent, input, tenant: "local", idempotencyKey: key });
  if (!("row" in started)) throw new Error(`not started: ${started.kind}`);
  return started.row.run;
}

export async function fireIn(scene: Scene, at: number): Promise<void> {
  const agent = scene.agents.find((each) => each.name === "daily") as Agent;
  const { clock, limits } = scene.harness.world;
  const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal };
  const { outcome } = await fire(scene.harness.world, invocation, {
    agent,
    tenant: "local",
    at,
    watched: true,
    startRun,
  });
  if (outcome.kind === "held") throw new Error("no other firing is under way");
}

const HORIZON_MS = 60_000;

/** Runs up to so many attempts; one in eight dies on its way. */
export async function workFor(scene: Scene, dice: Dice, attempts: number): Promise<void> {
  const { harness, agents } = scene;
  for (let count = 0; count < attempts; count += 1) {
    const next = harness.world.chain.next();
    // A run that waits for a human longer than that needs no attempt, and must not expire.
    if (next === null || next > scene.clock.now() + HORIZON_MS) return;
    if (dice.roll(8) !== 0) await harness.runAttempt(agents as never);
    else {
      const { world, kill } = killableWorld(harness.world);
      await harness.loseAttempt(agents as never, world);
      kill();
    }
  }
}

export const backUp = ({ harness }: Scene): MemoryStore => copyOf(harness.world.store);

function copyOf(store: MemoryStore): MemoryStore {
  const copy = memoryStore(store.id);
  for (const name of ["rows", "messages", "objects", "turns", "records", "tombstones", "putAt"] as const)
    for (const [key, value] of store[name]) (copy[name] as Map<string, unknown>).set(key, structuredClone(value));
  return copy;
}

/** `rows`: the table alone, as on AWS, where the bucket keeps newer objects. `all`: everything, as in the embedded store. */
export type RestoredParts = "rows" | "all";

/** Restores the backup into a world of its own, after the last lease of the original, and fences it. */
export async function restoreFrom(scene: Scene, backup: MemoryStore, parts: RestoredParts): Promise<readonly string[]> {
  const { clock, harness } = scene;
  const { store: lost, limits, random } = harness.world;
  const store = copyOf(backup);
  if (parts === "rows") {
    for (const [key, bytes] of lost.objects) store.objects.set(key, bytes);
    for (const [key, at] of lost.putAt) store.putAt.set(key, at);
  }
  clock.moveTo(clock.now() + MS.beat + MS.skew);
  const world: MemoryWorld = withKernel(memoryWorld({ clock, limits, random, store }));
  scene.harness = harnessOf({ world, clock, wakes: [], alarms: [] });
  scene.hasRestored = true;
  const { runs, held } = await fenceRestored(world);
  if (held.length > 0) throw new Error("no lease lasts that long");
  return runs;
}

interface Asked {
  readonly run: string;
  readonly tool: string;
  readonly order: string;
}

/**
 * An operator resumes every paused run, and answers every question by what the services say, until all runs have ended.
 * Returns the questions.
 */
export async function operate(scene: Scene, dice: Dice): Promise<readonly Asked[]> {
  const { harness, services } = scene;
  const { world } = harness;
  const questions: Asked[] = [];
  for (let round = 0; round < 400; round += 1) {
    const live = [...world.store.rows.values()].filter((row) => !hasEnded(row));
    if (live.length === 0) return questions;
    for (const { run, pause } of live) if (pause) await sendRequest(world, { run, want: "resume" });
    await sweep(world);
    await workFor(scene, dice, 40);
    for (const { run } of live) {
      for (const { call, tool, args, answered } of (await show(world, run))?.unknown ?? []) {
        if (answered) continue;
        const { order } = args as { readonly order: string };
        const happened = services.effects(tool as ToolName, order) > 0;
        const said = await reconcile(world, {
          ...{ run, call, by: "ann", note: null },
          ...(happened ? { as: "succeeded", result: "found" } : { as: "retry", result: null }),
        });
        if (said.kind === "accepted") questions.push({ run, tool, order });
      }
    }
    scene.clock.moveTo(scene.clock.now() + MS.beat);
  }
  const open = [...world.store.rows.values()].filter((row) => !hasEnded(row));
  const words = await Promise.all(
    open.map(
      async ({ run, phase }) =>
        `${run} ${phase} ${JSON.stringify((await timeline(world, { run, after: 0 }))?.slice(-3))}`,
    ),
  );
  throw new Error(`runs go on for ever: ${words.join("\n")}`);
}
