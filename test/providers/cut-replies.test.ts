/** How replies end, in every wire format: a reply that was cut plans nothing, and one that is whole counts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type Tool, tool } from "../../src/index.ts";
import { text } from "../../src/core/message.ts";
import type { ModelOutcome, ModelRequest } from "../../src/ports/model.ts";
import { modelOf } from "../../src/providers/model.ts";
import { anthropic } from "../support/providers/anthropic.ts";
import { bedrock } from "../support/providers/bedrock.ts";
import { google } from "../support/providers/google.ts";
import { openai } from "../support/providers/openai.ts";
import { openaiCompatible } from "../support/providers/openai-compatible.ts";
import { startProvider } from "../support/providers/provider-server.ts";
import type { Said, Wire } from "../support/providers/wire.ts";

const WIRES = { anthropic, openai, google, bedrock, openaiCompatible } as const;
const FORMS = ["whole", "streamed"] as const;
type Form = (typeof FORMS)[number];
const BOTH = Object.values(WIRES).flatMap((wire) => FORMS.map((form) => ({ form, wire, name: wire.model })));

const deleteFiles = tool({ input: z.object({ filter: z.string().optional() }), effect: "unsafe", run: () => null });
const listFiles = tool({ input: z.object({}), effect: "none", run: () => null });
const TOOLS = { deleteFiles, listFiles } as unknown as Readonly<Record<string, Tool>>;
const user = { id: "m1", at: 1, source: "task", role: "user", parts: [text("Hi")], tokens: 0 } as const;

async function ended(
  wire: Wire,
  form: Form,
  said: Said,
  options: NonNullable<ModelRequest["options"]> = {},
): Promise<ModelOutcome> {
  await using _server = await startProvider(wire, { kind: "says", said });
  return await modelOf(wire.model, async () => "key").ask({
    ...{ instructions: "", messages: [user], tools: TOOLS, options, signal: new AbortController().signal },
    ...(form === "streamed" ? { onPiece: () => undefined } : {}),
  });
}

const calls = (...args: readonly string[]) => [{ id: "c", tool: "deleteFiles", args }];
const cut = (of: object) => ({ kind: "failed", failure: { code: "ReplyCut" }, retryable: false, cut: of });

// Bedrock needs a region; a developer's environment may have one.
beforeEach(() => void vi.stubEnv("AWS_REGION", "eu-central-1"));
afterEach(() => vi.unstubAllEnvs());

describe.each(BOTH)("$name, $form", ({ wire, form }) => {
  test.each<[string, readonly string[]]>([
    ["no arguments", [""]],
    ["empty arguments", ["{}"]],
    ["half of its arguments", ['{"fil', 'ter":"*.t']],
    ["all of its arguments", ['{"filter":"*.tmp"}']],
  ])("a call with %s that a limit cut is none", async (_, args) => {
    const outcome = await ended(wire, form, { text: ["I delete "], calls: calls(...args), end: "length" });
    expect(outcome).toMatchObject(cut({ parts: [] }));
    expect(outcome).toMatchObject({ spent: { tokensOut: 30 } });
  });

  test("a text that a limit cut is kept, and is no answer", async () => {
    const outcome = await ended(wire, form, { text: ["The refund of ", "500 euros is"], end: "length" });
    expect(outcome).toMatchObject(cut({ calls: 0, parts: [{ kind: "text", text: "The refund of 500 euros is" }] }));
  });

  test("reasoning alone that a limit cut is nothing that anyone goes on with", async () => {
    expect(await ended(wire, form, { reasoning: "Where?", end: "length" })).toMatchObject(cut({ calls: 0, parts: [] }));
  });

  test("an error, whatever the provider calls it, is asked for again", async () => {
    const words = wire === google ? ["NETWORK_ERROR"] : ["network_error", "insufficient_system_resource", "abort"];
    for (const word of words) {
      const outcome = await ended(wire, form, { text: ["half a w"], word });
      const failure = { code: "ModelFailed", message: expect.stringContaining(word) as string };
      // The Responses API has such a word only for an incomplete response.
      if (wire !== openai) expect(outcome).toMatchObject({ kind: "failed", failure, retryable: true, isPartial: true });
    }
  });

  const OWN_WORD = "finished_speaking";

  test("an end in the provider's own word counts if each call is complete", async () => {
    const said = { calls: calls('{"filter":"*.tmp"}'), word: OWN_WORD };
    const outcome = await ended(wire, form, said);
    // An incomplete response says by its status that it is cut.
    if (wire === openai) return expect(outcome).toMatchObject(cut({ calls: 1 }));
    expect(outcome).toMatchObject({ kind: "reply", parts: [{ tool: "deleteFiles", args: { filter: "*.tmp" } }] });
    expect(await ended(wire, form, { text: ["Done."], word: OWN_WORD })).toMatchObject({ kind: "reply" });
  });

  test("an end in the provider's own word is a cut at the limit of tokens, and whole below it", async () => {
    if (wire === openai) return;
    const said = { text: ["Done."], word: OWN_WORD };
    expect(await ended(wire, form, said, { maxOutputTokens: 30 })).toMatchObject(cut({ calls: 0 }));
    expect(await ended(wire, form, said, { maxOutputTokens: 31 })).toMatchObject({ kind: "reply" });
  });
});

describe.each(FORMS)("calls without arguments, %s", (form) => {
  const called = (wire: Wire, name: string, word: string | null): Promise<ModelOutcome> =>
    ended(wire, form, { calls: [{ id: "c", tool: name, args: [""] }], word });

  test("count after an unknown end for a tool without properties only", async () => {
    expect(await called(openaiCompatible, "listFiles", "eos")).toMatchObject({ kind: "reply" });
    expect(await called(openaiCompatible, "deleteFiles", "eos")).toMatchObject(cut({ calls: 1, parts: [] }));
    expect(await called(openaiCompatible, "unknownTool", "eos")).toMatchObject(cut({ calls: 1, parts: [] }));
  });

  test("count after an end that is known, as some servers send them", async () => {
    const said = { calls: [{ id: "c", tool: "deleteFiles", args: [""] }] };
    expect(await ended(openaiCompatible, form, said)).toMatchObject({ kind: "reply", parts: [{ args: {} }] });
  });
});

test("arguments that were never streamed are none, though the package writes {} for them", async () => {
  const said = { calls: [{ id: "c", tool: "deleteFiles", args: [] }], word: "finished" };
  expect(await ended(anthropic, "streamed", said)).toMatchObject(cut({ calls: 1, parts: [] }));
});

test.each<[string | null]>([["tool_call"], ["end_turn"], ["eos"], [""], [null]])(
  "a whole reply that ends with %j counts with complete calls",
  async (word) => {
    const outcome = await ended(openaiCompatible, "whole", { calls: calls('{"filter":"a"}'), word });
    expect(outcome).toMatchObject({ kind: "reply", parts: [{ args: { filter: "a" } }] });
    const half = await ended(openaiCompatible, "whole", { calls: calls('{"filter":'), word });
    expect(half).toMatchObject(cut({ calls: 1 }));
  },
);

test("a stream that ends without a word for it is broken: something may be missing", async () => {
  const outcome = await ended(openaiCompatible, "streamed", { text: ["half"], word: null });
  expect(outcome).toMatchObject({ kind: "failed", retryable: true, isPartial: true });
});

test.each(FORMS)("a response that is incomplete without a reason is cut, %s", async (form) => {
  const whole = await ended(openai, form, { calls: calls("{}"), word: null });
  expect(whole).toMatchObject(cut({ calls: 1, parts: [] }));
});

test.each([
  ["cut", "max_tokens"],
  ["cut", "MAX_TOKENS"],
  ["cut", "model_context_window_exceeded"],
  ["cut", "model_length"],
  ["cut", "max_new_tokens"],
  ["cut", "length_capped"],
  ["cut", "pause_turn"],
  ["cut", "tokenLimit"],
])("%s: the word %s says so on a wire that does not know it", async (_, word) => {
  const outcome = await ended(openaiCompatible, "whole", { calls: calls("{}"), word });
  expect(outcome).toMatchObject(cut({ limit: word, calls: 1 }));
});

test.each(["sensitive", "SAFETY", "content_filtered", "guardrail_intervened", "RECITATION"])(
  "%s: a filter stopped the reply on a wire that does not know the word",
  async (word) => {
    const outcome = await ended(openaiCompatible, "whole", { text: ["So"], calls: calls("{}"), word });
    expect(outcome).toMatchObject({ kind: "failed", failure: { code: "ReplyFiltered" }, spent: {} });
  },
);

test("an object that was asked for as an answer is not continued in the middle", async () => {
  await using _server = await startProvider(openaiCompatible, {
    kind: "says",
    said: { text: ['{"total":'], end: "length" },
  });
  const format = { name: "answer", schema: { type: "object" } };
  const asked = { instructions: "", messages: [user], tools: {}, format, signal: new AbortController().signal };
  const outcome = await modelOf(openaiCompatible.model, async () => "key").ask(asked);
  expect(outcome).toMatchObject(cut({ calls: 0, parts: [] }));
});
