/** Whose code a chain calls: every payload names the agent of its run's row. */
import { expect, test } from "vitest";
import { executionsOf } from "../../src/adapters/local/executions.ts";
import type { Payload } from "../../src/protocol/chain.ts";
import { applyAnswer, beginAttempt, newExecution, taskOf } from "../../src/protocol/execution.ts";
import { startNextExecution } from "../../src/engine/loop/executions.ts";
import { NOW, temporaryStore } from "../process/fixtures/store.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { callsThenOver, actor, replyOf, rowOf, chainedStage } from "../support/stage.ts";

const named = (name: string) => ({ ...actor({ reply: callsThenOver(1) }), name });

/** What the executions of the chain carry now. */
const agentsIn = (on: ReturnType<typeof chainedStage>) =>
  [...on.world.chain.executions.values()].map(({ payload }) => payload.agent);

test("the first execution of a run names the agent of its row, and so does the one to which the run is handed over", async () => {
  const on = chainedStage();
  const payload = await begin(on.world, named("clerk"), {});
  expect(agentsIn(on)).toEqual(["clerk"]);
  const { run, born, chain } = payload;
  await startNextExecution(on.world, { run, born, chain });
  expect(agentsIn(on)).toEqual(["clerk", "clerk"]);
});

test.each(["", "another"])("a beat whose payload names %j answers with the agent of the row", async (agent) => {
  const on = chainedStage();
  const payload = await begin(on.world, named("clerk"), {});
  const reply = await replyOf(attempt(runnerOf(on.world, named("clerk")), { ...payload, agent }));
  expect(reply).toMatchObject({ route: "beat", agent: "clerk" });
  expect(await drive(runnerOf(on.world, named("clerk")), reply)).toMatchObject({ route: "done", agent: "clerk" });
  expect(rowOf(on, payload.run)).toMatchObject({ agent: "clerk", status: "completed" });
});

test("a beat that finds no row answers with the agent of its payload", async () => {
  const on = chainedStage();
  const payload: Payload = { run: "local-aaaaaaaaaaaaaaaaaaaaaaaaaa", born: "x", chain: 1, epoch: 0, agent: "clerk" };
  const reply = await replyOf(attempt(runnerOf(on.world, named("clerk")), payload));
  expect(reply).toMatchObject({ route: "superseded", agent: "clerk" });
});

test("an execution hands on the agent that a beat answered", () => {
  const payload: Payload = { run: "r", born: "b", chain: 1, epoch: 0, agent: "" };
  const execution = beginAttempt(newExecution({ name: "r-b-1", payload, now: 0 }), "token");
  const answer = { kind: "beat", reply: { ...payload, epoch: 2, agent: "clerk", route: "park", seconds: 5 } } as const;
  const parked = beginAttempt(applyAnswer(execution, { answer, now: 0 }), "token");
  expect(taskOf(parked)).toMatchObject({ kind: "park", payload: { epoch: 2, agent: "clerk" } });
});

test("an execution that was stored before payloads named the agent goes on, and names none", () => {
  const store = temporaryStore();
  const executions = executionsOf(store);
  executions.start({ name: "old", payload: { run: "r", born: "b", chain: 1, epoch: 3, agent: "clerk" }, now: NOW });
  const old = JSON.stringify({ run: "r", born: "b", chain: 1, epoch: 3 });
  store.rows.prepare("UPDATE executions SET payload = ?, sum = NULL WHERE name = 'old'").run(old);
  expect(executions.begin("old", NOW)).toMatchObject({ stage: "trying", payload: { epoch: 3, agent: "" } });
});
