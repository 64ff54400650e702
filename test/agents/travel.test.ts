/** The travel example: the model finds its way from the conversation alone, and equal trips have equal results. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { travel } from "../../agents/travel/agent.ts";
import { setBehaviour } from "../../agents/travel/behaviour.ts";
import { model, price } from "../../agents/travel/model.ts";
import { countsOf } from "../../agents/travel/services.ts";
import { promptOf } from "../../src/engine/model/prompt.ts";
import { microUsdOf } from "../../src/core/policy/price.ts";
import { NOTHING_SPENT } from "../../src/core/policy/budget.ts";
import type { Json } from "../../src/core/json.ts";
import { type CallOutcome, type Message, type Part, inline, text } from "../../src/core/message.ts";
import { NO_MEMORY } from "../../src/chaos/plain-loop.ts";
import { OutcomeUnknown, type SettledCall } from "../../src/index.ts";

const LISBON = { from: "Berlin", to: "Lisbon" };
const ROME = { from: "Oslo", to: "Rome", date: "2027-09-01", nights: 5, traveller: "Alan Turing" };
const STEPS = Object.keys(travel.tools);
const ONE = { requests: 1, bookings: 1 };

let dir = "";

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "travel-"));
  vi.stubEnv("TRAVEL_SERVICES", dir);
  vi.stubEnv("TRAVEL_PACE", "0");
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

describe("the model of the travel example", () => {
  it("takes the seven steps in order, one per beat, and ends with a farewell", async () => {
    const { calls, words } = await walk(LISBON);
    expect(calls.map(({ tool }) => tool)).toEqual(STEPS);
    expect(words).toContain("booked and paid");
    expect(countsOf(dir)).toEqual({
      search: { searchFlights: 1, searchHotels: 1 },
      airline: ONE,
      hotel: ONE,
      card: ONE,
      mail: ONE,
      model: { ...Object.fromEntries(STEPS.map((step) => [step, 1])), goodbye: 1 },
    });
  });

  it("costs $0.17", async () => {
    const { beats } = await walk(LISBON);
    expect(beats).toEqual([50_000, 40_000, 80_000, 0, 0, 0, 0, 0]);
  });

  it("books another trip when it gets another task", async () => {
    const [lisbon, rome] = [await walk(LISBON, { run: "one" }), await walk(ROME, { run: "two" })];
    for (const step of STEPS) expect(resultOf(lisbon.calls, step)).not.toEqual(resultOf(rome.calls, step));
  });

  it("continues when a check tells it that it stopped too early", async () => {
    const { messages } = await walk(LISBON, { beats: 6 });
    const nudged = [
      ...messages,
      message("assistant", text("Done!")),
      message("user", text("no confirmation was sent")),
    ];
    const { calls } = await walk(LISBON, { messages: nudged });
    expect(calls.map(({ tool }) => tool)).toEqual(["sendConfirmation"]);
  });

  it("repeats a failed step once", async () => {
    setBehaviour(dir, "hotel", { kind: "fail" });
    const { calls } = await walk(LISBON);
    expect(calls).toHaveLength(8);
    expect(countsOf(dir)).toMatchObject({ hotel: { requests: 2, bookings: 1 }, mail: ONE });
  });

  it("gives up a step that failed twice, and says so again when a check asks it to continue", async () => {
    setBehaviour(dir, "hotel", { kind: "fail", times: 2 });
    const { messages, words } = await walk(LISBON);
    expect(words).toMatch(/bookHotel did not work: .*out of order/);
    const again = await walk(LISBON, { messages: [...messages, message("user", text("no confirmation was sent"))] });
    expect(again).toMatchObject({ calls: [], words });
    expect(countsOf(dir)).toMatchObject({ airline: ONE, hotel: { requests: 2, bookings: 0 }, card: { requests: 0 } });
  });

  it("does not repeat a declined card", async () => {
    setBehaviour(dir, "card", { kind: "decline" });
    const { words } = await walk(LISBON);
    expect(words).toContain("declined");
    expect(countsOf(dir)).toMatchObject({ card: { requests: 1, bookings: 0 }, mail: { requests: 0 } });
  });

  it("does not repeat a step whose outcome stays unknown: without a trip number a new call has a new key", async () => {
    setBehaviour(dir, "airline", { kind: "fail", moment: "after" });
    const { words } = await walk(LISBON);
    expect(words).toContain("It is not known whether bookFlight happened");
    expect(countsOf(dir)).toMatchObject({ airline: ONE, hotel: { requests: 0 } });
  });
});

describe("the travel agent", () => {
  it("is done when the confirmation is sent, and not before", async () => {
    const { calls } = await walk(LISBON);
    const verdicts = [calls.slice(0, 6), calls].map((some) => travel.done.map(({ holds }) => holds(view(some))));
    expect(verdicts).toEqual([["no confirmation was sent"], [true]]);
  });

  it("gives equal results for equal trips, also when every call is sent twice", async () => {
    const calm = await walk(LISBON, { run: "calm" });
    const rough = await walk(LISBON, { run: "rough", sends: 2 });
    expect(travel.result?.(view(rough.calls))).toEqual(travel.result?.(view(calm.calls)));
    const both = { requests: 3, bookings: 2 };
    expect(countsOf(dir)).toMatchObject({ airline: both, hotel: both, card: both, mail: both });
  });

  it.each([
    ["bookFlight", "trip_42_book_flight_v1"],
    ["bookHotel", "trip_42_book_hotel_v1"],
    ["chargeCard", "trip_42_charge_v1"],
    ["sendConfirmation", "trip_42_confirm_v1"],
  ])("gives %s the key %s, and another one after a restart", async (step, key) => {
    const { calls } = await walk({ ...LISBON, trip: "42" });
    const { input, key: keyOf } = travel.tools[step] ?? expect.fail(step);
    const order: unknown = input.parse(calls.find(({ tool }) => tool === step)?.args);
    expect(keyOf?.(order, { ...OF, restart: 1, attempt: 1 })).toBe(key);
    expect(keyOf?.(order, { ...OF, restart: 2, attempt: 2 })).toBe(key.replace("_v1", "_v2"));
  });

  it("leaves the key to cairn when the trip has no number", async () => {
    const { calls } = await walk(LISBON);
    const { key } = travel.tools["bookFlight"] ?? expect.fail();
    expect(key?.(calls.find(({ tool }) => tool === "bookFlight")?.args, { ...OF, restart: 1, attempt: 1 })).toBeNull();
  });

  it("has the limits of $2.00 and 60 s", () => {
    expect(travel.budget).toMatchObject({ microUsd: 2_000_000, wallMs: 60_000 });
  });

  it("records the name of the external service in the ledger", async () => {
    const { calls } = await walk(LISBON);
    const { bookFlight } = travel.tools;
    expect(bookFlight?.externalId?.(resultOf(calls, "bookFlight"))).toMatch(/^[0-9A-F]{6}$/);
    expect(bookFlight?.externalId?.("booked by hand")).toBeNull();
  });

  it("stops a search when its signal aborts", async () => {
    vi.stubEnv("TRAVEL_PACE", "1000");
    const asked = { tool: "searchFlights", args: { ...LISBON, date: "2027-05-14" }, key: "k" };
    await expect(send(asked, AbortSignal.timeout(5))).rejects.toThrow("aborted");
  });
});

interface WalkOptions {
  /** Its keys start with this. */
  readonly run?: string;
  /** How often each call is sent under its key. */
  readonly sends?: number;
  readonly beats?: number;
  /** A conversation to go on with. */
  readonly messages?: readonly Message[];
}

/** Beats without cairn: ask the model, send its call, tell the result. `beats` are costs in micro-dollars. */
async function walk(task: Json, options: WalkOptions = {}) {
  const messages = [...(options.messages ?? [message("user", text(JSON.stringify(task)))])];
  const calls: SettledCall[] = [];
  const beats: number[] = [];
  while (beats.length < (options.beats ?? 20)) {
    const { content, usage } = await model.doGenerate({ prompt: promptOf("", messages) });
    const tokens = { tokensIn: usage.inputTokens.total ?? 0, tokensOut: usage.outputTokens.total ?? 0 };
    beats.push(microUsdOf(price, tokens));
    const [said] = content;
    if (said?.type === "text") return { calls, beats, messages, words: said.text };
    if (said?.type !== "tool-call") throw new Error("the model says nothing");
    const asked = { tool: said.toolName, args: JSON.parse(said.input) as Json };
    const call = `${options.run ?? "run"}-${messages.length}`;
    for (let sent = 1; sent < (options.sends ?? 1); sent += 1) await send({ ...asked, key: call });
    const settled = { ...asked, call, ...(await settle(send({ ...asked, key: call }))) };
    calls.push(settled);
    messages.push(...told(settled));
  }
  return { calls, beats, messages, words: "" };
}

const OF = { run: "main-1", task: LISBON, restart: 1 };
const NO_FILES = { list: () => [], read: () => Promise.reject(new Error("it has none")) };
const NONE = { get: () => Promise.reject(new Error("it declares none")) };

async function send(
  { tool, args, key }: { readonly tool: string; readonly args: Json; readonly key: string },
  signal = new AbortController().signal,
): Promise<Json> {
  const { input, run } = travel.tools[tool] ?? expect.fail(`there is no tool ${tool}`);
  const call = { ...OF, input: input.parse(args), key, attempt: 1, epoch: 1 };
  const callback = () => Promise.reject(new Error("it has none"));
  const context = {
    ...call,
    signal,
    deadline: Infinity,
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    log: () => {},
    secrets: NONE,
    files: NO_FILES,
    memory: NO_MEMORY,
    callback,
  };
  return JSON.parse(JSON.stringify(await run(context))) as Json;
}

async function settle(sent: Promise<Json>): Promise<{ outcome: CallOutcome; result: Json }> {
  try {
    return { outcome: "succeeded", result: await sent };
  } catch (error) {
    return { outcome: error instanceof OutcomeUnknown ? "unknown" : "failed", result: String(error) };
  }
}

function told({ call, tool, args, outcome, result }: SettledCall): Message[] {
  return [
    message("assistant", { kind: "call", call, tool, args: inline(args), provider: null }),
    message("tool", { kind: "result", call, tool, outcome, value: inline(result), edited: null }),
  ];
}

const message = (role: Message["role"], part: Part): Message => ({
  id: "m",
  at: 0,
  source: "test",
  role,
  parts: [part],
  tokens: 0,
});

const resultOf = (calls: readonly SettledCall[], tool: string): Json =>
  calls.find((call) => call.tool === tool)?.result ?? null;

const view = (calls: readonly SettledCall[]) => ({
  task: travel.task.parse(LISBON),
  calls,
  text: "",
  spent: NOTHING_SPENT,
});
