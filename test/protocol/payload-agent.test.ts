/** Whose code a chain calls: every payload names the agent of its run's row. */
import { expect, test } from "vitest";
import type { Payload } from "../../src/protocol/chain.ts";
import { applyAnswer, beginAttempt, newExecution, taskOfExecution } from "../../src/protocol/execution.ts";
import { startNextExecution } from "../../src/engine/context/executions.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, scriptedAgent, beatReply, createChainHarness } from "../support/harness/harness.ts";

const named = (name: string) => ({ ...scriptedAgent({ reply: callsThenFinal(1) }), name });

/** What the executions of the chain carry now. */
const agentsIn = (harness: ReturnType<typeof createChainHarness>) =>
  [...harness.world.chain.executions.values()].map(({ payload }) => payload.agent);

test("the first execution of a run names the agent of its row, and so does its successor after a hand-over", async () => {
  const harness = createChainHarness();
  const payload = await beginRun(harness.world, named("clerk"), {});
  expect(agentsIn(harness)).toEqual(["clerk"]);
  const { run, born, chain } = payload;
  await startNextExecution(harness.world, { run, born, chain });
  expect(agentsIn(harness)).toEqual(["clerk", "clerk"]);
});

test.each(["", "another"])("a beat whose payload names %j responds with the agent of the row", async (agent) => {
  const harness = createChainHarness();
  const payload = await beginRun(harness.world, named("clerk"), {});
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, named("clerk")), { ...payload, agent }));
  expect(reply).toMatchObject({ route: "beat", agent: "clerk" });
  expect(await drive(runnerOf(harness.world, named("clerk")), reply)).toMatchObject({ route: "done", agent: "clerk" });
  expect(harness.row(payload.run)).toMatchObject({ agent: "clerk", status: "completed" });
});

test("a beat without a row responds with the agent of its payload", async () => {
  const harness = createChainHarness();
  const payload: Payload = { run: "local-aaaaaaaaaaaaaaaaaaaaaaaaaa", born: "x", chain: 1, epoch: 0, agent: "clerk" };
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, named("clerk")), payload));
  expect(reply).toMatchObject({ route: "superseded", agent: "clerk" });
});

test("an execution passes on the agent of a beat's response", () => {
  const payload: Payload = { run: "r", born: "b", chain: 1, epoch: 0, agent: "" };
  const execution = beginAttempt(newExecution({ name: "r-b-1", payload, now: 0 }), "token");
  const answer = { kind: "beat", reply: { ...payload, epoch: 2, agent: "clerk", route: "park", seconds: 5 } } as const;
  const parked = beginAttempt(applyAnswer(execution, { answer, now: 0 }), "token");
  expect(taskOfExecution(parked)).toMatchObject({ kind: "park", payload: { epoch: 2, agent: "clerk" } });
});
