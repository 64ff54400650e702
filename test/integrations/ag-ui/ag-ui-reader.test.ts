/** What AG-UI's own client shows while a model speaks, and after its process died. */
import { HttpAgent } from "@ag-ui/client";
import { waitUntil } from "../../support/gate/safety.ts";
import { expect, it } from "vitest";
import { addCommits, agUiFold } from "../../../src/integrations/ag-ui/ag-ui-fold.ts";
import { type AgUiEvent, AgUiReader } from "../../../src/integrations/ag-ui/ag-ui-reader.ts";
import { liveStreamOf } from "../../../src/integrations/chat/ui-messages.ts";

import { ShownText, type StreamedRun, createStreamedRun } from "../../support/runs/streamed-run.ts";

const REQUEST = { threadId: "t", runId: "r", messages: [{ id: "u1", role: "user", content: "go" }] };

/** A client that reads this run, page by page. */
function reading(streamed: StreamedRun) {
  const fold = agUiFold(streamed.run);
  const reader = new AgUiReader(fold, REQUEST);
  const pages = new ShownText();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const types: string[] = [];
  const send = async (events: readonly AgUiEvent[]): Promise<void> => {
    types.push(...events.map(({ type }) => type));
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    await writer.write(new TextEncoder().encode(text));
  };
  const client = new HttpAgent({
    ...{ url: "http://127.0.0.1/", threadId: "t" },
    fetch: async () => new Response(readable, { headers: { "content-type": "text/event-stream" } }),
  });
  client.addMessage({ id: "u1", role: "user", content: "go" });
  const done = client.runAgent({ runId: "r" });
  const read = async (): Promise<void> => {
    const page = await streamed.read(pages);
    addCommits(fold, page.entries);
    const segment = liveStreamOf(fold.ui.segments, "task");
    if (segment === null) return;
    await send([...reader.next(segment, page.live)].flat());
    if (segment.isDone) await writer.close();
  };
  const said = (): readonly unknown[] => client.messages.slice(1).map(({ content }) => content);
  return { begin: () => send([{ type: "RUN_STARTED", threadId: "t", runId: "r" }]), read, said, done, types };
}

it("shows what the model says, and goes on with the committed reply where it fits", async () => {
  const streamed = await createStreamedRun();
  const client = reading(streamed);
  await client.begin();
  const { call, end } = await streamed.begin();
  call.say("A reply, ");
  await streamed.second();
  await client.read();
  await waitUntil(() => expect(client.said()).toEqual(["A reply, "]));
  call.say("whole.");
  call.finish();
  await end();
  await streamed.harness.runUntilIdle(streamed.agent);
  await client.read();
  await client.done;
  expect(client.said()).toEqual(["A reply, whole."]);
  expect(client.types).not.toContain("MESSAGES_SNAPSHOT");
});

it("takes back what a dead call said, as soon as another invocation goes on", async () => {
  const streamed = await createStreamedRun();
  const client = reading(streamed);
  await client.begin();
  const dead = await streamed.beginToDie();
  dead.call.say("The half of a re");
  await streamed.second();
  await client.read();
  await waitUntil(() => expect(client.said()).toEqual(["The half of a "]));
  dead.kill();
  const next = await streamed.begin();
  await client.read();
  expect(client.types.at(-1)).toBe("MESSAGES_SNAPSHOT");
  await waitUntil(() => expect(client.said()).toEqual([]));
  next.call.say("Another reply, whole.");
  next.call.finish();
  await next.end();
  await streamed.harness.runUntilIdle(streamed.agent);
  await client.read();
  await client.done;
  expect(client.said()).toEqual(["Another reply, whole."]);
});

it("takes back what a dead call said when the reader first learns of it with the reply", async () => {
  const streamed = await createStreamedRun();
  const fold = agUiFold(streamed.run);
  const reader = new AgUiReader(fold, REQUEST);
  const { call, end } = await streamed.begin();
  call.say("The reply.");
  call.finish();
  await end();
  await streamed.harness.runUntilIdle(streamed.agent);
  const { entries } = await streamed.read(new ShownText());
  addCommits(
    fold,
    entries.filter(({ kind }) => kind === "RunStarted"),
  );
  const open = liveStreamOf(fold.ui.segments, "task");
  if (open === null) throw new Error("no segment");
  const delta = { epoch: 1, version: 0, seq: 1, at: 0, parts: [{ kind: "text" as const, index: 0, text: "Ghost" }] };
  expect([...reader.next(open, { reset: null, deltas: [delta] })].flat().at(-1)).toMatchObject({ delta: "Ghost" });
  addCommits(
    fold,
    entries.filter(({ kind }) => kind !== "RunStarted"),
  );
  const events = [...reader.next(open, { reset: null, deltas: [] })].flat();
  expect(events.slice(0, 3)).toMatchObject([
    { type: "TEXT_MESSAGE_END" },
    { type: "MESSAGES_SNAPSHOT", messages: REQUEST.messages },
    { type: "TEXT_MESSAGE_START" },
  ]);
  expect(events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT")).toMatchObject([{ delta: "The reply." }]);
});
