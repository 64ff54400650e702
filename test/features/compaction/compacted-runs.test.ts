/**
 * Runs whose context is compacted while something of theirs is open: a gate, a question, an event that came early, child
 * runs, effects that may have to be undone. Each goes on in a process that knows nothing of it, and ends as it should.
 */
import { fold } from "../../../src/features/compose.ts";
import { expect, test } from "vitest";
import type { Json } from "../../../src/core/json.ts";
import type { Message } from "../../../src/core/message.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { send } from "../../../src/operations/steer.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { type promptOf, promptOfMessage } from "../../../src/engine/model/prompt.ts";
import { type ScriptedReply, check } from "../../../src/index.ts";
import type { History } from "../../simulation/history.ts";
import { eventsOf, replay } from "../../simulation/replay.ts";
import { crowdedAgent, looks } from "../../support/agents/crowded-agent.ts";
import { decideGate, stateOf } from "../../support/agents/approval-agent.ts";
import { answerCall, signalEvent } from "../../support/agents/waiting-agent.ts";
import { worker } from "../../support/agents/workers.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { runBeats } from "../../support/runs/long-runs.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

type Crowded = ReturnType<typeof crowdedAgent>;

const OVER: ScriptedReply = { text: "over" };
const call = (name: string, args: Json): ScriptedReply => ({ calls: [{ tool: name, args }] });

async function begun(plan: readonly ScriptedReply[], options: Parameters<typeof crowdedAgent>[1] = {}) {
  const harness = createHarness();
  const made = crowdedAgent(plan, options);
  const agents = [made.agent, worker({ effect: "none" })];
  const payload = await beginRun(harness.world, made.agent, {});
  const { run } = payload;
  /** In a new process, from the run's last beat on, until it waits or ends. */
  const goOn = async (): Promise<string> => {
    const { born, chain, epoch, agent } = harness.row(run);
    const { route } = await drive(runnerOf(harness.world, agents), { run, born, chain, epoch, agent });
    if (route !== "wait") return route;
    harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(run).wakeAt ?? 0));
    return goOn();
  };
  return { harness, ...made, agents, payload, run, goOn };
}

/** The parts of a request, each as text. */
const partsOf = (prompt: ReturnType<typeof promptOf>): readonly string[] =>
  prompt.flatMap(({ content }) =>
    typeof content === "string" ? [content] : content.map((part) => JSON.stringify(part)),
  );

const isShown = (prompt: ReturnType<typeof promptOf>, message: Message): boolean =>
  partsOf(promptOfMessage(message)).every((part) => partsOf(prompt).includes(part));

/**
 * Each request after a compaction shows the task, the newest messages and what has to stay, word for word, and the
 * compaction changed nothing else of the run. Returns the number of compactions.
 */
function compactionsOf({
  harness,
  run,
  requests,
}: Pick<Crowded, "requests"> & { harness: Harness; run: string }): number {
  const history = { world: harness.world, run } as unknown as History;
  const counts = { replies: 0, compactions: 0 };
  let state = replay(history).first;
  for (const event of eventsOf(history)) {
    const before = state;
    state = fold(state, event);
    if (event.kind === "ModelCallCompleted") counts.replies += 1;
    if (event.kind !== "Compacted") continue;
    counts.compactions += 1;
    const { open, undo, children, signals, extension, saga, absorbed, spent } = state;
    expect({ open, undo, children, signals, extension, saga, absorbed, spent }).toEqual({
      ...{ open: before.open, undo: before.undo, children: before.children, signals: before.signals },
      ...{ extension: before.extension, saga: before.saga, absorbed: before.absorbed, spent: before.spent },
    });
    const last = before.messages.findLastIndex(({ role }) => role === "assistant");
    const spoken = before.messages.findLastIndex(
      ({ role, parts }) => role === "assistant" && parts.some(({ kind }) => kind === "text"),
    );
    const undoable = new Set((before.undo ?? []).map((each) => each.call));
    const stays = before.messages.filter(
      ({ source, parts }, index) =>
        index === 0 ||
        index >= last ||
        (source.startsWith("user:") && index > spoken) ||
        parts.some((part) => "call" in part && undoable.has(part.call)),
    );
    const { prompt } = requests[counts.replies] ?? { prompt: [] };
    expect(stays.filter((message) => !isShown(prompt, message))).toEqual([]);
  }
  return counts.compactions;
}

/** The requests that show the message, by their numbers. */
const showing = ({ requests }: Pick<Crowded, "requests">, message: Message): readonly number[] =>
  requests.flatMap(({ prompt }, index) => (isShown(prompt, message) ? [index] : []));

async function messagesOf(harness: Harness, run: string, is: (message: Message) => boolean) {
  return (await stateOf(harness.world, run)).messages.filter(is);
}

test("a gate that opens after a compaction is decided, and the model sees the call as a human changed it", async () => {
  const made = await begun([...looks(4), call("pay", { what: "hotel" }), ...looks(4), OVER]);
  const { harness, run, goOn, done } = made;
  expect(await goOn()).toBe("park");
  const waiting = await stateOf(harness.world, run);
  expect(waiting).toMatchObject({ phase: "AwaitingApproval", window: { from: expect.any(Number) } });
  expect(waiting.open).toMatchObject([{ call: "c5", status: "gated", heldBy: { by: "gate", decision: null } }]);
  await send(harness.world, { run, text: "nothing above 90 euros", by: "ada", id: "w1" });
  expect(await goOn()).toBe("park");
  expect((await stateOf(harness.world, run)).open).toEqual(waiting.open);
  await decideGate(harness.world, { run, as: "edit", args: { what: "hostel" } });
  expect(await goOn()).toBe("done");
  expect(done.map(({ what }) => what)).toEqual(["hostel"]);
  expect(compactionsOf(made)).toBeGreaterThan(2);
  const [said] = await messagesOf(harness, run, ({ source }) => source === "user:ada");
  // No reply has words before the last one, so each request from there on shows what the human wrote.
  expect(showing(made, said as Message)).toEqual([5, 6, 7, 8, 9]);
  const [paid] = await messagesOf(harness, run, ({ source }) => source === "tool:pay");
  expect(JSON.stringify(made.requests[5]?.prompt)).toContain("A person changed the arguments of this call");
  expect(showing(made, paid as Message)).toContain(5);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [] });
});

test("effects from before several compactions are undone newest first, and their calls are shown all the time", async () => {
  const plan = [call("book", { what: "hotel" }), ...looks(4), call("book", { what: "flight" }), ...looks(4), OVER];
  const made = await begun(plan, { done: [check("never", () => "it never is")] });
  const { harness, run, goOn, done, undone } = made;
  expect(await goOn()).toBe("failed");
  expect(done.map(({ what }) => what)).toEqual(["hotel", "flight"]);
  expect(undone).toEqual(done.toReversed());
  expect(compactionsOf(made)).toBeGreaterThan(2);
  expect((await ledger(harness.world, run))?.filter(({ tool }) => tool === "book")).toMatchObject([
    { call: "c1", status: "compensated" },
    { call: "c6", status: "compensated" },
    { call: "undo-c6", status: "succeeded" },
    { call: "undo-c1", status: "succeeded" },
  ]);
  const ofHotel = await messagesOf(harness, run, ({ parts }) =>
    parts.some((part) => "call" in part && part.call === "c1"),
  );
  expect(ofHotel.map(({ role }) => role)).toEqual(["assistant", "tool"]);
  const all = made.requests.map((_, index) => index);
  for (const message of ofHotel) expect(showing(made, message)).toEqual(all.slice(1));
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [] });
});

test("a question that is asked after a compaction is answered, and an event from before it ends its wait", async () => {
  const asking = {
    calls: [
      { tool: "ask", args: { question: "All of it?" } },
      { tool: "paid", args: {} },
    ],
  };
  const made = await begun([...looks(4), asking, ...looks(3), OVER]);
  const { harness, run, payload, goOn, agent, agents } = made;
  await runBeats(runnerOf(harness.world, agents), payload, 1);
  expect(await signalEvent(harness.world, run, { detail: { euros: 12 }, agent })).toMatchObject({ kind: "accepted" });
  expect(await goOn()).toBe("park");
  const waiting = await stateOf(harness.world, run);
  expect(waiting).toMatchObject({ phase: "AwaitingApproval", window: { from: expect.any(Number) } });
  expect(waiting.open).toMatchObject([{ call: "c5", heldBy: { by: "wait", for: "answer" } }]);
  expect(await answerCall(harness.world, run, { call: "c5", result: { yes: true }, agent })).toMatchObject({
    kind: "accepted",
  });
  expect(await goOn()).toBe("done");
  expect(compactionsOf(made)).toBeGreaterThan(2);
  const answers = await messagesOf(harness, run, ({ source }) => source === "tool:ask" || source === "tool:paid");
  expect(answers.map(({ parts }) => parts[0])).toMatchObject([
    { call: "c6", outcome: "succeeded", value: { json: { detail: { euros: 12 } } } },
    { call: "c5", outcome: "succeeded", value: { json: { yes: true } } },
  ]);
  for (const message of answers) expect(showing(made, message)).toContain(5);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [] });
});

/** Drives the child runs of the run to their ends. */
async function driveChildren({ harness, run, agents }: Awaited<ReturnType<typeof begun>>): Promise<readonly string[]> {
  const children = [...harness.world.store.rows.values()].filter(({ parent }) => parent?.run === run);
  const routes: string[] = [];
  for (const { run: child, born, chain, epoch, agent } of children) {
    const { route } = await drive(runnerOf(harness.world, agents), { run: child, born, chain, epoch, agent });
    routes.push(route);
  }
  return routes;
}

test("children that are sent after a compaction report, and the model sees what they answered", async () => {
  const both = { calls: [1, 2].map((part) => ({ tool: "send", args: { part } })) };
  const made = await begun([...looks(4), both, ...looks(3), OVER]);
  const { harness, run, goOn } = made;
  expect(await goOn()).toBe("park");
  expect(await stateOf(harness.world, run)).toMatchObject({
    ...{ phase: "AwaitingChildren", window: { from: expect.any(Number) } },
    children: [{ call: "c5" }, { call: "c6" }],
  });
  expect(await driveChildren(made)).toEqual(["done", "done"]);
  expect(await goOn()).toBe("done");
  expect(compactionsOf(made)).toBeGreaterThan(2);
  const reports = await messagesOf(harness, run, ({ source }) => source === "tool:send");
  expect(reports.map(({ parts }) => parts[0])).toMatchObject([
    { call: "c5", outcome: "succeeded", value: { json: { memo: "part 1" } } },
    { call: "c6", outcome: "succeeded", value: { json: { memo: "part 2" } } },
  ]);
  for (const message of reports) expect(showing(made, message)).toContain(5);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [] });
});

test("a child that is out while the context is compacted is waited for, and its cost is counted", async () => {
  const made = await begun([...looks(2), call("send", { part: 1 }), ...looks(4), OVER]);
  const { harness, run, goOn } = made;
  expect(await goOn()).toBe("park");
  // Nobody drives the child: it is too late, its call fails, and the run goes on.
  harness.clock.moveTo(harness.clock.now() + 30_000);
  expect(await goOn()).toBe("park");
  const kinds = eventsOf({ world: harness.world, run } as unknown as History).map(({ kind }) => kind);
  expect(kinds.slice(kinds.indexOf("ChildSuperseded")).filter((kind) => kind === "Compacted").length).toBeGreaterThan(
    0,
  );
  expect(await stateOf(harness.world, run)).toMatchObject({ children: [{ call: "c3", superseded: true }] });
  expect(await driveChildren(made)).toEqual(["done"]);
  expect(await goOn()).toBe("done");
  const child = [...harness.world.store.rows.values()].find(({ parent }) => parent?.run === run);
  expect(child).toMatchObject({ status: "cancelled" });
  expect(compactionsOf(made)).toBeGreaterThan(2);
  expect((await show(harness.world, run))?.children).toEqual([]);
  expect(await verify(harness.world, { run })).toMatchObject({ findings: [] });
});
