/**
 * 200 chats (40 in the gate) of people who do not wait their turn: a script types, decides, edits, asks for another answer, stops and loads
 * the page again, at random, while workers die. In the end the page shows what the run's events say, no effect happened
 * twice, and nothing waits unseen.
 */
import type { Chat } from "@ai-sdk/react";
import { type UIMessage, isToolUIPart } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { tool } from "../../src/index.ts";
import { seededRandom } from "../../src/adapters/memory/clock.ts";
import { ledger } from "../../src/operations/views.ts";
import type { EventPage } from "../../src/operations/event-page.ts";
import { waitUntil } from "../support/gate/safety.ts";
import { sampled } from "../support/gate/stride.ts";
import { CHAT_API, CHAT_HOST, type ChatServer, loadChatPage, openChatServer } from "../support/harness/chat-page.ts";

const CHATS = sampled(40, 200);
const STEPS = 7;

type Page = Chat<UIMessage>;

/** Draws of one chat, by its number. */
function drawsOf(seed: number) {
  const random = seededRandom(`chat ${seed}`);
  const below = (count: number): number => Number.parseInt(random.hex().slice(0, 8), 16) % count;
  return { below, oneOf: <T>(items: readonly T[]): T | undefined => items[below(Math.max(1, items.length))] };
}

const partsOf = ({ messages }: Page) => messages.flatMap(({ parts }) => parts.filter(isToolUIPart));

const gatesIn = (page: Page): readonly string[] =>
  partsOf(page).flatMap((part) => (part.state === "approval-requested" ? [part.approval.id] : []));

const textOf = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join();

/** The page does nothing by itself any more. */
const quiet = (page: Page): Promise<unknown> =>
  waitUntil(() => expect(["ready", "error"]).toContain(page.status)).then(() => new Promise(setImmediate));

interface Played {
  readonly server: ChatServer;
  readonly effects: readonly string[];
  readonly kinds: ReadonlySet<string>;
}

async function play(seed: number): Promise<Played> {
  const { below, oneOf } = drawsOf(seed);
  const effects: string[] = [];
  const pay = tool({
    ...{ input: z.object({ euros: z.number() }), effect: "keyed", approval: "always" },
    run: ({ key }) => {
      effects.push(key);
      return { paid: key };
    },
  });
  const kill = () =>
    below(3) === 0 ? { at: below(40), when: below(2) === 0 ? ("before" as const) : ("after" as const) } : null;
  const server = openChatServer({ tools: { pay }, kill });
  let pages: readonly Page[] = [await loadChatPage(server)];
  const kinds = new Set<string>();
  for (let step = 0; step < STEPS; step += 1) {
    const page = oneOf(pages) as Page;
    const user = oneOf(page.messages.filter(({ role }) => role === "user"));
    const gate = oneOf(gatesIn(page));
    const kind = step === 0 ? "type" : (oneOf(KINDS) ?? "type");
    kinds.add(kind);
    if (kind === "type") await page.sendMessage({ text: `${oneOf(["pay", "look at", "hello"])} ${step}` });
    if (kind === "decide" && gate !== undefined)
      await page.addToolApprovalResponse({ id: gate, approved: below(3) > 0 });
    if (kind === "edit" && user !== undefined) await page.sendMessage({ text: `changed ${step}`, messageId: user.id });
    if (kind === "again" && page.messages.length > 0) await page.regenerate();
    if (kind === "stop" && page.messages.length > 0) await stop(server);
    if (kind === "load") pages = [...pages.slice(-1), await loadChatPage(server)];
    await quiet(page);
  }
  return { server, effects, kinds };
}

const KINDS = ["type", "type", "decide", "decide", "edit", "again", "stop", "load"] as const;

const stop = ({ ask }: ChatServer) =>
  ask(`${CHAT_API}/stop`, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });

/** Shows a chat as a page that is loaded now does, and compares it with the events and the ledger of its run. */
async function compare({ server, effects }: Played): Promise<Page> {
  const page = await loadChatPage(server);
  expect(page.error).toBeUndefined();
  const answer = page.messages.find(({ role }) => role === "assistant");
  const { run } = (answer?.metadata ?? {}) as { readonly run: string };
  const calls = ((await ledger(server.harness.world, run)) ?? []).filter(
    ({ tool: name }) => name !== "cairn_next_message",
  );
  expect(partsOf(page).map(({ toolCallId }) => toolCallId)).toEqual(calls.map(({ call }) => call));
  for (const [index, part] of partsOf(page).entries()) {
    const status = calls[index]?.status ?? "";
    expect({ toolCallId: part.toolCallId, status, state: part.state }).toEqual({
      toolCallId: part.toolCallId,
      status,
      state: STATES[status] ?? part.state,
    });
    expect(part.state).not.toMatch(/^input-|responded$/);
  }
  const { entries } = (await (
    await server.ask(`http://${CHAT_HOST}/runs/${run}/events?after=0&wait=0`)
  ).json()) as EventPage;
  const said = entries.flatMap((entry) =>
    entry.kind === "MessageAbsorbed" &&
    entry.stage === "taken" &&
    entry.message.startsWith("user#") &&
    "text" in entry.body
      ? [entry.body.text]
      : [],
  );
  const told = page.messages.filter(({ role }) => role === "user").map(textOf);
  expect(told.slice(1)).toEqual(said);
  // Each effect has the key of one call, and each call that succeeded has its effect.
  const paid = calls.filter(({ tool: name, status }) => name === "pay" && status === "succeeded");
  expect(new Set(effects).size).toBe(paid.length);
  return page;
}

const STATES: Readonly<Record<string, string>> = { succeeded: "output-available", gated: "approval-requested" };

it("shows what the events of each chat say, does no effect twice, and lets nothing wait unseen", async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= CHATS; seed += 1) {
    const played = await play(seed);
    for (const kind of played.kinds) seen.add(kind);
    const page = await compare(played);
    // What waits is shown: its decisions let the chat go on, and it takes the next message.
    // A message that waited may ask for more.
    for (let [gate] = gatesIn(page); gate !== undefined; [gate] = gatesIn(page)) {
      await page.addToolApprovalResponse({ id: gate, approved: true });
      await quiet(page);
    }
    await page.sendMessage({ text: "the end" });
    await quiet(page);
    const after = await compare(played);
    expect({ seed, gates: gatesIn(after), text: textOf(after.messages.at(-1) as UIMessage) }).toEqual({
      seed,
      gates: [],
      text: "You said: the end",
    });
  }
  expect([...seen].toSorted()).toEqual([...new Set(KINDS)].toSorted());
});
