/** Requests that a provider refuses: what is tried, that no run ends by it, and that nothing is undone. */
import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { type ScriptedReply, react, scriptedModel, tool } from "../../../src/index.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { show } from "../../../src/operations/views.ts";
import { playRun, roleAgent } from "../../support/runs/topology-run.ts";
import { MS } from "../../support/harness/harness.ts";

const refusal = (statusCode: number, message = "no", headers: Record<string, string> = {}): APICallError =>
  new APICallError({ message, statusCode, url: "http://host", requestBodyValues: {}, responseHeaders: headers });

interface Provider {
  readonly model: LanguageModelV4;
  /** What each request said, as JSON. */
  readonly asked: string[];
}

/** A provider that refuses a request by what it says; its reply is one of a script, by the number of calls so far. */
function provider(
  name: string,
  of: { readonly refuses: (asked: string, count: number) => Error | null; readonly replies: readonly ScriptedReply[] },
): Provider {
  const asked: string[] = [];
  const scripted = scriptedModel({
    name,
    reply: ({ messages, calls }) => {
      if (messages.at(-1)?.text.startsWith("Your context has to be made shorter") === true) return { text: "short" };
      const isCompacted = messages.some(({ text }) => text.startsWith("A summary of what came before"));
      return of.replies.at(isCompacted ? -1 : Math.min(calls.length, of.replies.length - 1)) as ScriptedReply;
    },
  });
  const doGenerate: LanguageModelV4["doGenerate"] = async (options) => {
    const said = JSON.stringify(options.prompt);
    asked.push(said);
    const refused = of.refuses(said, asked.length);
    if (refused !== null) throw refused;
    return scripted.doGenerate(options);
  };
  return { asked, model: { ...scripted, doGenerate } };
}

const PAY: ScriptedReply = { calls: [{ tool: "pay", args: {} }] };

function payer(own: Provider, more: Partial<Parameters<typeof roleAgent>[1]> = {}) {
  const [paid, undone]: [string[], string[]] = [[], []];
  const pay = tool({
    input: z.object({}),
    effect: "idempotent",
    run: ({ key }) => {
      paid.push(key);
      return "receipt ".repeat(100);
    },
    undo: { effect: "idempotent", run: ({ key }) => undone.push(key) },
  });
  const { agent } = roleAgent(react({ maxBeats: 100 }) as Agent["topology"], {
    ...{ tools: { pay }, price: { inUsd: 1, outUsd: 1 } },
    ...{ reply: () => ({ text: "" }), ...more },
  });
  return { agent: { ...agent, model: own.model }, paid, undone };
}

const rulesOf = ({ events }: Awaited<ReturnType<typeof playRun>>): readonly string[] =>
  events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));

/** Refused after the first reply, as long as it is. */
const laterRefused = (error: Error, isMended: () => boolean = () => false) =>
  provider("own", {
    refuses: (said) => (said.includes("tool-result") && !isMended() ? error : null),
    replies: [PAY, { text: "done" }],
  });

describe("a refused request", () => {
  test.each([400, 401, 402, 403, 404, 405, 422])(
    "of status %i ends no run: it waits for an operator, undoes nothing and goes on after a resume",
    async (status) => {
      let isMended = false;
      const own = laterRefused(refusal(status, "the key was rotated"), () => isMended);
      const { agent, paid, undone } = payer(own);
      const played = await playRun(agent);
      const { harness, run, shown } = played;
      expect(shown).toMatchObject({
        ...{ status: "blocked", failure: null },
        label: expect.stringContaining("provider of its model refuses"),
        waitsFor: {
          kind: "operator",
          mends: "request",
          code: "ModelRefused",
          why: `HTTP ${status}: the key was rotated`,
        },
      });
      expect(rulesOf(played)).toEqual(["the provider refuses the request"]);
      const before = own.asked.length;
      await harness.runForTime(agent, 2 * MS.day);
      expect({ asked: own.asked.length, undone }).toEqual({ asked: before, undone: [] });
      isMended = true;
      await sendRequest(harness.world, { run, want: "resume" });
      await harness.runForTime(agent, MS.hour);
      expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "done" });
      expect({ paid: paid.length, undone }).toEqual({ paid: 1, undone: [] });
    },
  );

  test("waits again after a resume that mends nothing, and is asked once", async () => {
    const own = laterRefused(refusal(401));
    const { agent } = payer(own);
    const { harness, run } = await playRun(agent);
    for (const asked of [3, 4]) {
      await sendRequest(harness.world, { run, want: "resume" });
      await harness.runForTime(agent, MS.hour);
      expect({ asked: own.asked.length, status: (await show(harness.world, run))?.status }).toEqual({
        asked,
        status: "blocked",
      });
    }
  });

  test("is sent once, although a message had woken the run", async () => {
    const own = provider("own", { refuses: () => refusal(401), replies: [] });
    const { agent } = payer(own);
    const { shown } = await playRun(agent, {
      before: async ({ harness, run }) => void (await send(harness.world, { run, text: "Hurry.", by: "ann", id: "1" })),
    });
    expect({ status: shown?.status, asked: own.asked.length }).toEqual({ status: "blocked", asked: 1 });
  });

  test("goes to the next model in line, and waits only if that refuses it as well", async () => {
    const price = { inUsd: 1, outUsd: 1 };
    const answers = provider("second", { refuses: () => null, replies: [{ text: "the second" }] });
    const first = payer(laterRefused(refusal(404)), { fallbacks: [{ model: answers.model, price }] });
    expect((await playRun(first.agent)).shown).toMatchObject({ status: "completed", result: "the second" });
    const refuses = provider("second", { refuses: () => refusal(403, "not you either"), replies: [] });
    const second = payer(laterRefused(refusal(404)), { fallbacks: [{ model: refuses.model, price }] });
    const played = await playRun(second.agent);
    expect(played.shown).toMatchObject({ status: "blocked", waitsFor: { why: "HTTP 403: not you either" } });
    expect(rulesOf(played)).toEqual(["request refused, the next model is asked", "the provider refuses the request"]);
  });

  test("is sent without reasoning and metadata first, and so are those that follow", async () => {
    const own = provider("own", {
      refuses: (said) => (said.includes("signature-of-another") ? refusal(400, "unknown signature") : null),
      replies: [PAY, PAY, { text: "done" }],
    });
    const { agent, paid } = payer(own);
    const signed: LanguageModelV4 = {
      ...own.model,
      doGenerate: async (options) => {
        const reply = await own.model.doGenerate(options);
        const providerMetadata = { other: { signature: "signature-of-another" } };
        const content = reply.content.map((part) => (part.type === "tool-call" ? { ...part, providerMetadata } : part));
        return { ...reply, content: [{ type: "reasoning", text: "Hm.", providerMetadata }, ...content] };
      },
    };
    const played = await playRun({ ...agent, model: signed });
    expect(played.shown).toMatchObject({ status: "completed", result: "done" });
    expect(rulesOf(played)).toEqual(["request refused, sent again without optional parts"]);
    expect({ paid: paid.length, asked: own.asked.length }).toEqual({ paid: 2, asked: 4 });
    expect(own.asked.slice(2).join("")).not.toMatch(/Hm\.|signature-of-another/);
    expect(own.asked[3]).toContain("tool-result");
  });

  test("that grew is made shorter, as it may be too long in words that nobody knows", async () => {
    const own = provider("own", {
      refuses: (said) => (said.split('"tool-result"').length > 3 ? refusal(400, "la requête est énorme") : null),
      replies: [PAY, PAY, PAY, { text: "done" }],
    });
    const read = tool({ input: z.object({}), effect: "none", run: () => "line ".repeat(100) });
    const { agent } = payer(own, { loops: "ignore", tools: { pay: read } });
    const played = await playRun(agent);
    expect(rulesOf(played)[0]).toBe("request refused, it may be too long, not yet compacted");
    expect({ status: played.shown?.status, failure: played.shown?.failure }).toEqual({
      status: "completed",
      failure: null,
    });
  });

  test("above a limit that counts its reply, too, is sent with a lower limit for it", async () => {
    const own = provider("own", { refuses: () => null, replies: [{ text: "done" }] });
    const limits: (number | undefined)[] = [];
    const { agent } = payer(own, { modelOptions: { maxOutputTokens: 4_000 } });
    const groq: LanguageModelV4 = {
      ...own.model,
      doGenerate: async (options) => {
        limits.push(options.maxOutputTokens);
        const requested = 10_000 + (options.maxOutputTokens ?? 0);
        if (requested > 12_000) throw refusal(413, `Limit 12000, Requested ${requested}`, { "retry-after": "9" });
        return own.model.doGenerate(options);
      },
    };
    const played = await playRun({ ...agent, model: groq });
    expect({ status: played.shown?.status, limits }).toEqual({ status: "completed", limits: [4_000, 2_000] });
    expect(rulesOf(played)).toEqual(["request refused, a shorter reply makes room for it"]);
  });

  test("of the closing call leaves the run its end", async () => {
    const own = provider("own", {
      refuses: (said) => (said.includes("You have to stop now") ? refusal(401) : null),
      replies: [PAY],
    });
    const { agent } = payer(own, { budget: { beats: 1 } });
    expect((await playRun(agent)).shown).toMatchObject({ status: "failed" });
  });

  // A run that waits looks for another version of its agent now and then, so its calls of the store have no end.
  test.each(Array.from({ length: 48 }, (_, index) => [index >> 1, index % 2 === 0 ? "before" : "after"] as const))(
    "waits in the same way if its process dies at call %i, %s it",
    async (at, when) => {
      const { agent, paid, undone } = payer(laterRefused(refusal(401)));
      const { shown, lives } = await playRun(agent, { crash: { at, when } });
      expect({ lives, status: shown?.status, kind: shown?.waitsFor?.kind, undone }).toEqual({
        lives: false,
        status: "blocked",
        kind: "operator",
        undone: [],
      });
      expect(new Set(paid).size).toBe(1);
    },
  );
});

test("a context that is too long for its model waits as well, and another model may take it", async () => {
  const long = refusal(413, "too large");
  const own = provider("own", { refuses: () => long, replies: [] });
  const second = provider("second", { refuses: () => null, replies: [{ text: "room enough" }] });
  const { agent } = payer(own, { fallbacks: [{ model: second.model, price: { inUsd: 1, outUsd: 1 } }] });
  expect((await playRun(agent)).shown).toMatchObject({ status: "completed", result: "room enough" });
  const alone = await playRun(payer(provider("own", { refuses: () => long, replies: [] })).agent);
  expect(alone.shown).toMatchObject({
    status: "blocked",
    waitsFor: { kind: "operator", mends: "request", code: "ContextTooLong" },
  });
});
