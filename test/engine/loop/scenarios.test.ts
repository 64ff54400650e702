/** Scenarios of docs/choosing.md that no other test shows whole, since it names a test for each. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { streamingModel } from "../../support/agents/streaming-model.ts";
import { decideGate, gatesOf, runUntilGate } from "../../support/agents/approval-agent.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import { createHarness, neverSettles, flushPromises } from "../../support/harness/harness.ts";
import { timeline } from "../../../src/operations/views.ts";
import { withCalls, decisionCalls } from "../../../src/testing/decisions.ts";

test("a short chat makes a handful of writes, however long its reply is, and none for a token", async () => {
  const writesOf = async (words: number) => {
    const harness = createHarness();
    const { model, counts } = streamingModel("word ".repeat(words));
    const agent = defineAgent({
      ...{ name: "chat", version: "1", instructions: "", task: z.object({}), tools: {}, dial: "auto", model },
    }) as Agent;
    const { table, deltas, objects } = harness.world;
    const writes = { commits: 0, deltas: 0, objects: 0 };
    const count =
      <A extends unknown[], R>(kind: keyof typeof writes, write: (...args: A) => R) =>
      (...args: A): R => {
        writes[kind] += 1;
        return write(...args);
      };
    const counted: World = {
      ...harness.world,
      table: withCalls(table, { commit: count("commits", decisionCalls(table).commit) }),
      deltas: { ...deltas, append: count("deltas", deltas.append) },
      objects: { ...objects, put: count("objects", objects.put) },
    };
    const payload = await beginRun(harness.world, agent, {});
    await harness.advanceUntilSettled(drive(runnerOf(counted, agent), payload));
    expect(harness.row(payload.run).status).toBe("completed");
    // The model does not speak token by token, since no reader is attached.
    expect(counts).toEqual({ streamed: 0, whole: 1 });
    return writes;
  };
  const short = await writesOf(3);
  expect(short.commits).toBeLessThanOrEqual(2);
  expect(short.objects).toBeLessThanOrEqual(2);
  expect(short.deltas).toBe(0);
  const { objects, ...long } = await writesOf(3_000);
  expect(long).toEqual({ commits: short.commits, deltas: 0 });
  // A long transcript is put in an object of its own.
  expect(objects).toBeLessThanOrEqual(short.objects + 1);
});

test("an approval resumes the frozen call: the arguments that were approved run, and the model is not asked again before", async () => {
  const harness = createHarness();
  const { run, payload, agent, ran } = await runUntilGate(harness);
  const [gate] = await gatesOf(harness.world, run);
  const kinds = async () => ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
  const before = (await kinds()).filter((kind) => kind === "ModelCallCompleted").length;
  await decideGate(harness.world, { run, as: "approve", gate: gate?.gate ?? "" });
  await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), payload));
  const after = (await kinds()).slice((await kinds()).indexOf("HumanApprovalReceived"));
  expect(after.indexOf("ToolResultRecorded")).toBeLessThan(after.indexOf("ModelCallCompleted"));
  expect({ before, ran: ran.length }).toEqual({ before: 1, ran: 1 });
});

test("a resume of many writes repeats only the one in flight, with the key of its checkpoint", async () => {
  const harness = createHarness();
  let isHeld = true;
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 1]], [["pay", "bob", 2]], [["mail", "ada", 3]]),
    run: ({ input }) => (input.to === "bob" && isHeld ? neverSettles() : "done"),
  });
  const { agent, done } = made;
  const { run } = await beginRun(harness.world, agent, {});
  const next = () => {
    const { born, chain, epoch, agent: name } = harness.row(run);
    return { run, born, chain, epoch, agent: name };
  };
  const { world, kill } = killableWorld(harness.world);
  drive(runnerOf(world, agent), next()).catch(() => undefined);
  await flushPromises();
  kill();
  isHeld = false;
  const { epoch } = harness.row(run).entry ?? { epoch: 0 };
  const reply = await harness.advanceUntilSettled(attemptBeat(runnerOf(harness.world, agent), { ...next(), epoch }, 1));
  if (reply.kind === "beat" && reply.reply.route === "beat")
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), reply.reply));
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1 });
  expect(done.map(({ input }) => input.to)).toEqual(["ada", "bob", "bob", "ada"]);
  expect(done[1]?.key).toBe(done[2]?.key);
});
