/**
 * Whole runs against strict fakes of providers, in their own wire formats: no transcript is refused, no call comes from a
 * reply that was cut, and each effect that a whole reply asked for happens once, wherever a process dies.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { react, tool } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { namedModel } from "../../src/ports/named-models.ts";
import { openWire } from "../../src/providers/named-model.ts";
import { readReply } from "../../src/providers/streamed-reply.ts";
import type { CrashPoint } from "../support/faults/crash-at-call.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { sampled } from "../support/gate/stride.ts";
import { anthropic } from "../support/providers/anthropic.ts";
import { bedrock } from "../support/providers/bedrock.ts";
import { google } from "../support/providers/google.ts";
import { openai } from "../support/providers/openai.ts";
import { openaiCompatible } from "../support/providers/openai-compatible.ts";
import {
  type Strict,
  strictAnthropic,
  strictBedrock,
  strictChat,
  strictGemini,
  strictGroq,
  strictResponses,
} from "../support/providers/strict.ts";
import type { Said, SentBody, Wire } from "../support/providers/wire.ts";
import { playRun, roleAgent } from "../support/runs/topology-run.ts";

interface Kind {
  readonly name: string;
  readonly wire: Wire;
  readonly strict: Strict;
  /** How its replies differ from those of the wire. */
  readonly says?: (said: Said) => Said;
  /** What the run has to leave out of its transcript, after it was refused once. */
  readonly takesNo?: RegExp;
}

/** Ollama and others end a reply with calls by the same word as a text. */
const STOPS = (said: Said): Said =>
  said.end === undefined && said.word === undefined ? { ...said, word: "stop" } : said;

const KINDS: readonly Kind[] = [
  { name: "Anthropic", wire: anthropic, strict: strictAnthropic },
  { name: "OpenAI, Responses", wire: openai, strict: strictResponses },
  { name: "OpenAI, chat", wire: openaiCompatible, strict: strictChat },
  { name: "Gemini", wire: google, strict: strictGemini },
  { name: "Bedrock", wire: bedrock, strict: strictBedrock },
  { name: "like Ollama", wire: openaiCompatible, strict: strictChat, says: STOPS },
  {
    name: "like OpenRouter",
    wire: openaiCompatible,
    strict: strictChat,
    says: (said) => ({ ...said, reasoning: "Hm." }),
  },
  { name: "like Groq", wire: openaiCompatible, strict: strictGroq, takesNo: /reasoning_content/ },
];
const FORMS = ["whole", "streamed"] as const;

const pay = (id: string, end?: "length"): Said => ({
  calls: [{ id, tool: "pay", args: [`{"id":`, `"${id}"}`] }],
  ...(end && { end }),
});
const half = (toolName = "pay"): Said => ({ calls: [{ id: "h", tool: toolName, args: ['{"id":"ha'] }], end: "length" });
const empty: Said = { calls: [{ id: "e", tool: "removeAll", args: [""] }], end: "length" };
const say = (...text: readonly string[]): Said => ({ text });
const cut = (...text: readonly string[]): Said => ({ text, end: "length" });
const both = (...ids: readonly string[]): Said => ({
  text: ["I pay."],
  calls: ids.map((id) => ({ id, tool: "pay", args: [`{"id":"${id}"}`] })),
});
const thinks = (said: Said): Said => ({ reasoning: "Hm.", ...said });
const END = say("done");

/** Replies in their order. A call with an ID that begins with `no` stands in a reply that was cut. */
const SCRIPTS: Readonly<Record<string, readonly Said[]>> = {
  "a text": [END],
  "a call": [pay("a"), END],
  "a cut call": [pay("no", "length"), pay("a"), END],
  "half a call": [half(), pay("a"), END],
  "a cut call without arguments": [empty, pay("a"), END],
  "two cut calls in a row": [half(), pay("no1", "length"), pay("a"), END],
  "a cut text": [cut("The refund is"), say(" done")],
  "a cut text in pieces": [cut("The ", "refund "), cut("is "), say("done")],
  "a cut text, then a call": [cut("I will"), pay("a"), END],
  "a call, then a cut text": [pay("a"), cut("It is do"), say("ne")],
  "cut reasoning": [{ reasoning: "So many", end: "length" }, pay("a"), END],
  "cut reasoning before a call": [thinks(half()), thinks(pay("a")), END],
  "cut reasoning before a text": [thinks(cut("The ")), thinks(say("end"))],
  "parallel calls": [both("a", "b"), END],
  "parallel calls that are cut": [{ ...both("no1", "no2"), end: "length" }, both("a", "b"), END],
  "reasoning and calls": [thinks(both("a", "b")), thinks(pay("c")), END],
  "a cut between calls": [pay("a"), half(), pay("b"), END],
  "a text with spaces that is cut": [cut("The refund \n "), say("is done")],
  "cuts until the last that is allowed": [half(), half(), half(), half(), pay("a"), END],
  "a call of an unknown tool, and a cut one": [
    { calls: [{ id: "u", tool: "nothing", args: ["{}"] }] },
    half("nothing"),
    pay("a"),
    END,
  ],
};

/** How many replies the transcript of this request has seen: messages of the model, and what it was told of cut ones. */
function stepOf(body: SentBody): number {
  const text = JSON.stringify(body);
  const told = text.match(/Your last reply was (cut|not taken|empty)/g)?.length ?? 0;
  const keptCuts = text.match(/What you wrote is kept/g)?.length ?? 0;
  const messages = (body["messages"] ?? body["contents"] ?? body["input"]) as readonly Readonly<
    Record<string, unknown>
  >[];
  // In the Responses API the items of one reply stand in a row.
  const isModel = (at: number): boolean =>
    ["assistant", "model"].includes(String(messages[at]?.["role"])) ||
    ["function_call", "reasoning"].includes(String(messages[at]?.["type"]));
  const replies = messages.filter((_, at) => isModel(at) && !isModel(at - 1)).length;
  return replies + told - keptCuts;
}

async function modelOver(kind: Kind, form: (typeof FORMS)[number], script: readonly Said[]) {
  const refused: string[] = [];
  const { wire, strict, says = (said: Said) => said } = kind;
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const body = JSON.parse(String(init?.body)) as SentBody;
    const why = strict(body);
    if (why !== null) {
      refused.push(`${why}: ${JSON.stringify(body).slice(0, 2_000)}`);
      return new Response(wire.refusal(400, why), { status: 400, headers: { "content-type": "application/json" } });
    }
    const said = says(script[Math.min(stepOf(body), script.length - 1)] as Said);
    const url = new URL(input instanceof Request ? input.url : input);
    if (!wire.isStream(url.pathname, body))
      return new Response(wire.whole(said), { headers: { "content-type": "application/json" } });
    const frames = wire.stream(said, body).map((frame) => Buffer.from(frame));
    return new Response(Buffer.concat(frames), { headers: { "content-type": wire.streamType } });
  };
  const model = (await openWire(namedModel(wire.model), "key"))(fetch);
  const includeRawChunks = model.provider.endsWith(".responses");
  const doGenerate: LanguageModelV4["doGenerate"] = async (asked) => {
    const { stream } = await model.doStream({ ...asked, includeRawChunks });
    return readReply(stream, () => undefined);
  };
  // A class: its methods are not its own fields.
  const streamed = Object.assign(Object.create(model) as LanguageModelV4, { doGenerate });
  return { refused, model: form === "whole" ? model : streamed };
}

/** The calls of the whole replies, which happen once each. */
const wanted = (script: readonly Said[]): readonly string[] =>
  script
    .flatMap(({ end, calls = [] }) => (end === undefined ? calls : []))
    .flatMap(({ tool: name, args }) => (name === "pay" ? [(JSON.parse(args.join("")) as { id: string }).id] : []))
    .toSorted();

// Bedrock needs a region.
beforeEach(() => void vi.stubEnv("AWS_REGION", "eu-central-1"));

describe.each(KINDS.flatMap((kind) => FORMS.map((form) => ({ kind, form, name: kind.name }))))(
  "$name, $form",
  ({ kind, form }) => {
    test.each(Object.entries(SCRIPTS))("%s", async (name, script) => {
      const { model, refused } = await modelOver(kind, form, script);
      for (const crash of [undefined, ...killsOf(Object.keys(SCRIPTS).indexOf(name))]) {
        // By key: a repeated call with its key is the same effect for its service.
        const effects = new Map<string, string>();
        const payTool = tool({
          input: z.object({ id: z.string() }),
          effect: "idempotent",
          run: ({ input, key }) => void effects.set(key, input.id),
        });
        const removeAll = tool({
          input: z.object({ filter: z.string().optional() }),
          effect: "unsafe",
          run: ({ key }) => void effects.set(key, "everything"),
        });
        const { agent } = roleAgent(react({ maxBeats: 30 }) as Agent["topology"], {
          ...{ reply: () => ({ text: "" }), tools: { pay: payTool, removeAll }, price: { inUsd: 1, outUsd: 1 } },
        });
        const played = await playRun({ ...agent, model }, { ...(crash && { crash }) });
        expect(refused.filter((why) => kind.takesNo?.test(why) !== true)).toEqual([]);
        assertSafety("each effect of a whole reply happens once, and none of a cut one", () =>
          expect([...effects.values()].toSorted()).toEqual(wanted(script)),
        );
        expect(played.shown).toMatchObject({ status: "completed", result: expect.stringMatching(/(done|end)$/) });
      }
    });
  },
);

/** Where processes die: spread over the calls of the store of a run of some beats. */
const KILLS: readonly CrashPoint[] = [
  { at: 4, when: "after" },
  { at: 9, when: "before" },
  { at: 13, when: "after" },
];

/** In the gate one of them for each script, in turn, so that each provider meets all of them. */
const killsOf = (script: number): readonly CrashPoint[] =>
  sampled(
    KILLS.filter((_, index) => index === script % KILLS.length),
    KILLS,
  );

test("the rules refuse what they are there for", () => {
  const use = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "pay", input: {} }] };
  const user = { role: "user", content: "Hi" };
  const broken: readonly (readonly [Strict, SentBody])[] = [
    [strictAnthropic, { max_tokens: 1, messages: [user, use, user] }],
    [
      strictAnthropic,
      { max_tokens: 1, messages: [user, { role: "assistant", content: [{ type: "text", text: " " }] }, user] },
    ],
    [strictAnthropic, { max_tokens: 1, messages: [user, { role: "assistant", content: "half" }] }],
    [
      strictChat,
      {
        messages: [
          user,
          { role: "assistant", tool_calls: [{ id: "a", function: { name: "p", arguments: "{}" } }] },
          user,
        ],
      },
    ],
    [strictChat, { messages: [user, { role: "assistant", content: "" }] }],
    [strictGroq, { messages: [{ role: "assistant", content: "So", reasoning_content: "Hm." }] }],
    [strictResponses, { input: [{ type: "function_call", call_id: "a" }] }],
    [strictResponses, { input: [{ type: "reasoning" }, { role: "user" }] }],
    [
      strictGemini,
      {
        contents: [
          { role: "user", parts: [{ text: "Hi" }] },
          { role: "model", parts: [{ functionCall: {} }] },
          { role: "user", parts: [{ text: "?" }] },
        ],
      },
    ],
    [strictGemini, { contents: [{ role: "user", parts: [] }] }],
    [
      strictBedrock,
      {
        messages: [
          { role: "user", content: [{ text: "a" }] },
          { role: "user", content: [{ text: "b" }] },
        ],
      },
    ],
    [strictBedrock, { messages: [{ role: "user", content: [{ text: " " }] }] }],
  ];
  expect(broken.filter(([strict, body]) => strict(body) === null)).toEqual([]);
});
