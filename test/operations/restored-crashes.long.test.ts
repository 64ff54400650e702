/**
 * The way of a restored run under crashes: the hand-over, the first beats, the resume, the probe or the question, its
 * answer and the word. Whoever makes a port call dies before or after it: an operator's command is repeated, and a beat
 * is tried again. What was done in the lost time is done once, and asked about at most once.
 */
import { expect, test } from "vitest";
import { startExecution } from "../../src/engine/context/executions.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { checkRun } from "../../src/operations/checked.ts";
import { decide } from "../../src/operations/decide.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { fenceRestored } from "../../src/operations/restored.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import type { Row } from "../../src/protocol/row.ts";
import { type CrashPoint, crashAtCall } from "../support/faults/crash-at-call.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { STRIDE } from "../support/gate/stride.ts";
import { beginRun } from "../support/harness/drive.ts";
import { type Harness, createChainHarness, MS } from "../support/harness/harness.ts";
import { wrapPorts } from "../support/harness/ports.ts";
import { clerk, restoreAlone } from "../support/restores/clerk.ts";

interface Restore {
  readonly effect: "unsafe" | "probed";
  readonly part?: Parameters<typeof clerk>[0]["part"];
  readonly calls: number;
  /** The objects of the lost time are still there, as on AWS. */
  readonly isNewer?: boolean;
  /** The model words its calls differently after the restore. */
  readonly isFickle?: boolean;
  /** The backup is of when the run waited at its gate. */
  readonly atGate?: boolean;
  /** How often a human is asked what happened in the lost time, and how many effects there are in the end. */
  readonly questions: number;
  readonly effects: number;
}

const businessKey = () => "order-1";

const RESTORES: { readonly [name: string]: Restore } = {
  // The first call is asked about, and after the word the second one is made again.
  "unsafe calls": { effect: "unsafe", calls: 2, questions: 1, effects: 3 },
  "an unsafe call that newer objects know": { effect: "unsafe", calls: 1, isNewer: true, questions: 0, effects: 1 },
  "an unsafe call behind an open gate": {
    ...{ effect: "unsafe", part: { approval: "always" }, calls: 1, atGate: true, questions: 1, effects: 1 },
  },
  "a probed call under a business key": {
    ...{ effect: "probed", part: { key: businessKey }, calls: 1, isFickle: true, questions: 0, effects: 1 },
  },
  "a probed call under a derived key": { effect: "probed", calls: 1, isFickle: true, questions: 1, effects: 1 },
};

interface Scene {
  readonly harness: Harness;
  readonly agent: Agent;
  readonly run: string;
  readonly done: readonly string[];
}

const approve = async ({ harness, run }: Pick<Scene, "harness" | "run">): Promise<void> => {
  const [gate] = (await show(harness.world, run))?.gates ?? [];
  await decide(harness.world, { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null });
};

/** A run that has ended, whose row is that of its backup again. */
async function lost(restore: Restore): Promise<Scene> {
  const { effect, part = {}, calls, isNewer = false, isFickle = false, atGate = false } = restore;
  const harness = createChainHarness();
  const done: string[] = [];
  let words = "pay";
  const agent = clerk({ effect, words: () => words, done, calls, part });
  const { run } = await beginRun(harness.world, agent, {});
  if (atGate) await harness.runUntilIdle(agent);
  const backup: Row = structuredClone(harness.row(run));
  if (atGate) await approve({ harness, run });
  await harness.runUntilIdle(agent);
  if (isNewer) harness.world.store.rows.set(run, backup);
  else restoreAlone(harness, backup);
  if (isFickle) words = "please pay";
  harness.clock.moveTo(harness.clock.now() + MS.beat + MS.skew);
  return { harness, agent, run, done };
}

/** All processes count their calls together. One of them dies at that call. */
class Crashes {
  isOver = false;
  #calls = 0;
  readonly #harness: Harness;
  readonly #crash: CrashPoint;

  constructor(harness: Harness, crash: CrashPoint) {
    this.#harness = harness;
    this.#crash = crash;
  }

  /** The work of one process. False: it died. */
  async #survives(work: (world: World) => Promise<unknown>): Promise<boolean> {
    const { world } = this.#harness;
    const at = this.isOver ? -1 : this.#crash.at - this.#calls;
    const process = crashAtCall(world, { ...this.#crash, at });
    const counted = (mine: World): World =>
      wrapPorts(mine, ({ send }) => {
        this.#calls += 1;
        return send();
      });
    const survived = await this.#harness.advanceUntilSettled(process.survives((mine) => work(counted(mine))));
    if (!survived) this.isOver = true;
    return survived;
  }

  /** A command, which its operator repeats until it answers. */
  async command(work: (world: World) => Promise<unknown>): Promise<void> {
    while (!(await this.#survives(work)));
  }

  /** Attempts until nothing is due for an hour. */
  async beats(agent: Agent): Promise<void> {
    const { world, clock } = this.#harness;
    for (let count = 0; count < 60; count += 1) {
      const next = world.chain.next();
      if (next === null || next > clock.now() + 3_600_000) return;
      const out = this.#harness.startAttempt();
      const survived = await this.#survives(async (mine) => {
        out.end(await out.perform({ world: mine, agent }));
      });
      if (!survived) out.end(null);
    }
    throw new Error("it goes on for ever");
  }
}

const timesOf = (keys: readonly string[], key: string | null): number => keys.filter((each) => each === key).length;

/** Everything from the hand-over to the end. False: nobody made such a call. */
async function play(restore: Restore, crash: CrashPoint): Promise<boolean> {
  const { harness, agent, run, done } = await lost(restore);
  const before = [...done];
  const crashes = new Crashes(harness, crash);
  const restored = (): Row => harness.row(run);
  await crashes.command((world) => fenceRestored(world));
  await crashes.command((world) => startExecution(world, restored()));
  await crashes.beats(agent);
  expect(await show(harness.world, run)).toMatchObject({ status: "paused", gates: [] });
  await crashes.command((world) => sendRequest(world, { run, want: "resume" }));
  await crashes.beats(agent);
  for (let round = 0; restored().status !== "completed" && round < 6; round += 1) {
    for (const { call, key, lostTime, reconcilableFrom } of (await show(harness.world, run))?.unknown ?? []) {
      harness.clock.moveTo(Math.max(harness.clock.now(), reconcilableFrom ?? 0));
      // What was done under that key in the lost time says nothing about another attempt.
      const happened = lostTime || timesOf(done, key) > timesOf(before, key);
      const said = { run, call, by: "ann", note: null, result: happened ? "acted" : null } as const;
      await crashes.command((world) => reconcile(world, { ...said, as: happened ? "succeeded" : "retry" }));
    }
    await crashes.command((world) => checkRun(world, { run, by: "ann" }));
    await crashes.beats(agent);
  }
  await crashes.command((world) => checkRun(world, { run, by: "ann" }));
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const questions = events.filter(
    (event) =>
      event.kind === "ToolOutcomeUnknown" &&
      event.restored !== undefined &&
      !events.some(
        (other) =>
          other.kind === "ToolResultReconciled" && other.call === event.call && other.answer.by === "newer objects",
      ),
  );
  expect(restored()).toMatchObject({ status: "completed", restored: { checked: { by: "ann" } } });
  expect({ questions: questions.length, done: done.length }).toEqual({
    questions: restore.questions,
    done: restore.effects,
  });
  expect((await ledger(harness.world, run))?.every(({ status }) => status !== "unknown")).toBe(true);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [], readable: true });
  return crashes.isOver;
}

test.each(Object.entries(RESTORES))(
  "whoever dies at any call of a restored run, nothing is done twice: %s",
  async (name, restore) => {
    let crashed = 0;
    for (const when of ["before", "after"] as const) {
      for (let at = 0, isMet = true; isMet; at += STRIDE) {
        try {
          isMet = await play(restore, { at, when });
        } catch (error) {
          assertSafety(`${name}: a crash ${when} call ${at}`, () => {
            throw error;
          });
        }
        if (isMet) crashed += 1;
      }
    }
    expect(crashed).toBeGreaterThan(60 / STRIDE);
  },
);
