/** The programs of `docs/recipes.md` are files of this folder, and do what the page claims. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { fakeService, runAgent, scriptedModel } from "../../src/testing/kit/index.ts";
import { desk } from "./recipes/desk.ts";
import { handbook } from "./recipes/handbook.ts";
import { dunning, nightly } from "./recipes/nightly.ts";
import { receiver } from "./recipes/receiver.ts";

const RECIPES = join(import.meta.dirname, "recipes");

test("the page has each program as it stands here, and no other", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/recipes.md"), "utf8");
  const shown = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code);
  const files = readdirSync(RECIPES).filter((name) => name !== "shop.ts");
  const programs = files.map((name) => readFileSync(join(RECIPES, name), "utf8"));
  expect(new Set(shown)).toEqual(new Set(programs));
});

test("the handbook answers from what its memory has", async () => {
  const { result, calls } = await runAgent(handbook, {
    input: "When does the ferry leave?",
    model: scriptedModel({
      name: "handbook-model",
      reply: ({ resultOf }) => {
        if (resultOf("keep") === undefined)
          return { calls: [{ tool: "keep", args: { id: "ferry", text: "The ferry leaves at nine." } }] };
        if (resultOf("search") === undefined) return { calls: [{ tool: "search", args: { words: "ferry" } }] };
        return { text: JSON.stringify(resultOf("search")) };
      },
    }),
  });
  expect(calls.map(({ tool }) => tool)).toEqual(["keep", "search"]);
  expect(result).toContain("The ferry leaves at nine.");
});

test("the nightly run has each invoice checked by a run of its own", async () => {
  const office = fakeService({ name: "office", reply: () => ({ sent: true }) });
  const checker = scriptedModel({
    name: "dunning-model",
    reply: ({ task, resultOf }) =>
      resultOf("remind") === undefined
        ? { calls: [{ tool: "remind", args: task.json }] }
        : { text: JSON.stringify({ due: true, why: "it is 30 days old" }) },
  });
  const { status, result } = await runAgent(nightly, {
    input: {},
    agents: [{ ...dunning, model: checker }],
    tools: { openInvoices: fakeService({ name: "shop", reply: () => ["7", "8"] }), "dunning.remind": office },
    model: scriptedModel({
      name: "nightly-model",
      reply: ({ calls, resultOf }) => {
        if (resultOf("openInvoices") === undefined) return { calls: [{ tool: "openInvoices", args: {} }] };
        const checks = calls.filter(({ tool }) => tool === "check");
        if (checks.length === 0) return { calls: ["7", "8"].map((invoice) => ({ tool: "check", args: { invoice } })) };
        return { text: `${checks.filter(({ outcome }) => outcome === "succeeded").length} checked` };
      },
    }),
  });
  expect({ status, result }).toEqual({ status: "completed", result: "2 checked" });
  expect(office.effects).toHaveLength(2);
});

test.each([
  [60, "it is more than 50 euros"],
  [50, false],
])("the desk asks before a refund of %i euros: %j", (euros, why) => {
  const { approval } = desk.tools["refund"] as { readonly approval: (args: object, run: object) => unknown };
  expect(approval({ order: "A-1", euros }, {})).toBe(why);
});

test("the receiver puts a notification into its queue, and refuses what has another signature", async () => {
  const key = `whsec_${Buffer.from("of the test").toString("base64")}`;
  const queued: unknown[] = [];
  const receive = receiver({ key, enqueue: async (message) => void queued.push(message) });
  const body = JSON.stringify({ type: "run.failed" });
  const at = new Date();
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
    "webhook-signature": new Webhook(key).sign("msg_1", at, body),
  };
  const post = (changed: object) =>
    receive(new Request("https://hooks.example", { method: "POST", body, headers: { ...headers, ...changed } }));
  expect((await post({})).status).toBe(204);
  expect(queued).toEqual([{ id: "msg_1", body }]);
  expect((await post({ "webhook-id": "msg_2" })).status).toBe(400);
  expect(queued).toHaveLength(1);
});
