/** Callbacks: a tool starts work outside, its run waits without a process, and the service reports once. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, scriptedModel, tool, waitFor } from "../../src/index.ts";
import { ROWS } from "../../src/operations/table.ts";
import { readAudit } from "../../src/operations/access/audit.ts";
import { timeline } from "../../src/operations/views.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { TenantLimits } from "../../src/sdk/access.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

const NOBODY = { caller: null };

interface RendererOptions {
  readonly lifeMs?: number;
  readonly detail?: z.ZodType;
  readonly until?: (detail: unknown) => boolean;
}

/** It orders work under its call's key, then waits for the report on it. */
function renderer(
  orders: { readonly callback: string; readonly key: string }[],
  { lifeMs, detail = z.object({ pages: z.number() }), until }: RendererOptions = {},
): Agent {
  return defineAgent({
    ...{ name: "renderer", version: "1", instructions: "", task: z.object({}) },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        if (calls.length === 0) return { calls: [{ tool: "order", args: {} }] };
        if (calls.length === 1) return { calls: [{ tool: "await", args: calls[0]?.result ?? {} }] };
        return { text: "done" };
      },
    }),
    tools: {
      order: tool({
        ...{ input: z.object({}), effect: "keyed" },
        run: async ({ key, callback }) => {
          const path = await callback(`order.${key}`.slice(0, 64), { ...(lifeMs !== undefined && { lifeMs }) });
          orders.push({ callback: path, key });
          return { order: `order.${key}`.slice(0, 64), path };
        },
      }),
      await: waitFor({
        ...{
          event: ({ order }: { readonly order: string }) => order,
          input: z.object({ order: z.string(), path: z.string() }),
          timeLimit: "7d",
        },
        detail,
        ...(until !== undefined && { until }),
      }),
    },
    result: ({ calls }) => calls.at(-1)?.result ?? null,
  }) as Agent;
}

interface WaitingOptions extends RendererOptions {
  readonly limits?: Readonly<Record<string, TenantLimits>>;
  /** The API has the code of the agent; default: it has not. */
  readonly hasCode?: boolean;
}

async function waiting({ limits = {}, hasCode = false, ...part }: WaitingOptions = {}) {
  const orders: { readonly callback: string; readonly key: string }[] = [];
  const agent = renderer(orders, part);
  const harness = createApiHarness({}, undefined, ROWS, { limits, coded: hasCode ? [agent] : [] });
  const payload = await beginRun(harness.world, agent, {});
  const reply = await drive(runnerOf(harness.world, agent), payload);
  expect({ route: reply.route, owner: harness.row(payload.run).owner }).toEqual({ route: "park", owner: null });
  return { harness, agent, payload: reply, path: orders[0]?.callback ?? "", run: payload.run };
}

const report = (harness: ApiHarness, path: string, json: unknown) => harness.ask({ path, json }, NOBODY);

test("a report ends the wait, counts once, and the same one again is no error", async () => {
  const { harness, agent, payload, path, run } = await waiting();
  expect(path).toMatch(/^\/callbacks\/cairn_[0-9a-f]{16}_[0-9a-f]{64}$/);
  expect(await report(harness, path, { pages: 12 })).toMatchObject({ status: 202, body: { accepted: true } });
  expect(await report(harness, path, { pages: 12 })).toMatchObject({ status: 200 });
  expect(await report(harness, path, { pages: 13 })).toMatchObject({ status: 409, body: { code: "SignalConflict" } });
  await drive(runnerOf(harness.world, agent), payload);
  expect(harness.row(run).status).toBe("completed");
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const results = events
    .filter((event) => event.kind === "ToolResultRecorded")
    .map(({ value }) => JSON.stringify(value));
  expect(results.at(-1)).toContain('"pages":12');
  // The service may not have heard that it was taken.
  expect(await report(harness, path, { pages: 12 })).toMatchObject({ status: 200 });
});

test("its secret is in no record of the run, and the store has its digest only", async () => {
  const { harness, path, run } = await waiting();
  const secret = path.split("_")[2] ?? "";
  expect(secret).toHaveLength(64);
  expect(JSON.stringify(await timeline(harness.world, { run, after: 0 }))).not.toContain(secret);
  const kept = await harness.world.records.list({
    ...{ kind: "callback", by: { about: path.split("_")[1] ?? "" }, after: null, limit: 9, now: harness.clock.now() },
  } as const);
  expect(kept.records).toHaveLength(1);
  expect(JSON.stringify(kept)).not.toContain(secret);
});

test("a guessed, cut or expired token is unknown, without a word about the run", async () => {
  const { harness, path, run } = await waiting({ lifeMs: 60_000 });
  const wrong = [
    path.slice(0, -1),
    `${path}0`,
    path.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    "/callbacks/x",
  ];
  for (const each of wrong) {
    const { status, body, text } = await report(harness, each, { pages: 1 });
    expect({ status, code: body["code"] }).toEqual({ status: 404, code: "CallbackUnknown" });
    expect(text).not.toContain(run);
  }
  harness.clock.moveTo(harness.clock.now() + 60_000);
  expect(await report(harness, path, { pages: 1 })).toMatchObject({ status: 404 });
});

test("it counts as a request of its run's tenant, unless its token is wrong", async () => {
  const { harness, path } = await waiting({ limits: { local: { requestsPerMinute: 2 } } });
  const wrong = await report(harness, `${path}x`, { pages: 3 });
  const answers = [];
  for (let count = 0; count < 3; count += 1) answers.push(await report(harness, path, { pages: 3 }));
  expect([wrong, ...answers].map(({ status }) => status)).toEqual([404, 202, 200, 429]);
});

test("it reports nothing to another run under the same key", async () => {
  const { harness, path, run } = await waiting();
  harness.world.store.rows.set(run, rewriteRow(harness.row(run), { born: "another" }));
  expect(await report(harness, path, { pages: 1 })).toMatchObject({ status: 404, body: { code: "CallbackUnknown" } });
});

test("the audit log says which callback reported", async () => {
  const { harness, path, run } = await waiting();
  await report(harness, path, { pages: 12 });
  const id = path.split("_")[1];
  const query = { tenant: "local", run, actor: null, since: null, after: null };
  expect((await readAudit(harness.world, query)).entries).toMatchObject([
    { operation: "signal", actor: `callback ${id}`, token: id, outcome: "accepted" },
  ]);
});

const STATUS = z.object({ status: z.enum(["queued", "done"]) });
const ENDS = { detail: STATUS, until: (detail: unknown) => STATUS.parse(detail).status === "done" };

/** The route of the run after one more beat, and the results of its calls. */
async function beat({ harness, agent, payload, run }: Awaited<ReturnType<typeof waiting>>) {
  const reply = await drive(runnerOf(harness.world, agent), payload);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const results = events.flatMap((event) => (event.kind === "ToolResultRecorded" ? [JSON.stringify(event.value)] : []));
  return { payload: reply, status: harness.row(run).status, last: results.at(-1) };
}

test("a report that does not fit is refused with what is wrong, and the right one still ends the wait", async () => {
  const at = await waiting({ hasCode: true });
  const refused = await report(at.harness, at.path, { pages: "in progress" });
  expect({ status: refused.status, body: refused.body }).toMatchObject({
    status: 422,
    body: { code: "DetailInvalid", detail: expect.stringContaining("pages") },
  });
  expect((await at.harness.ask({ path: at.path, body: "" }, NOBODY)).status).toBe(422);
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(202);
  expect(await beat(at)).toMatchObject({ status: "completed", last: expect.stringContaining('"pages":12') });
});

test("where the API has no code of the agent, a report that the run refuses does not use up the link", async () => {
  const at = await waiting();
  expect((await report(at.harness, at.path, { pages: "in progress" })).status).toBe(202);
  const early = await report(at.harness, at.path, { pages: 12 });
  expect({ status: early.status, detail: early.body["detail"] }).toEqual({
    status: 409,
    detail: expect.stringContaining("has not judged it yet"),
  });
  const { payload } = await beat(at);
  expect((await report(at.harness, at.path, { pages: "still" })).status).toBe(202);
  const next = await beat({ ...at, payload });
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(202);
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(200);
  expect((await report(at.harness, at.path, { pages: 13 })).status).toBe(409);
  expect(await beat({ ...at, payload: next.payload })).toMatchObject({
    status: "completed",
    last: expect.stringContaining('"pages":12'),
  });
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(200);
});

test("an event of somebody else that the run refused does not let a link report twice", async () => {
  const at = await waiting();
  const events = (await timeline(at.harness.world, { run: at.run, after: 0 })) ?? [];
  const name = events.flatMap((event) => (event.kind === "WaitBegun" ? [event.wait.event] : []))[0];
  const signalled = await at.harness.ask({
    path: `/runs/${at.run}/signals/${name}`,
    json: { detail: { pages: "none" } },
  });
  expect(signalled.status).toBe(202);
  await beat(at);
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(202);
  expect((await report(at.harness, at.path, { pages: 13 })).status).toBe(409);
});

test.each([
  ["the API", true],
  ["the beat", false],
])("a link takes interim reports where %s judges them, and the last one ends the wait", async (_, hasCode) => {
  const at = await waiting({ ...ENDS, hasCode });
  expect((await report(at.harness, at.path, { status: "queued" })).status).toBe(202);
  const first = await beat(at);
  expect(first.status).toBe("waiting");
  expect((await report(at.harness, at.path, { status: "done" })).status).toBe(202);
  expect(await beat({ ...at, payload: first.payload })).toMatchObject({
    status: "completed",
    last: expect.stringContaining('"status":"done"'),
  });
});

test("an until that answers with a promise is named, and ends nothing", async () => {
  const until = (() => Promise.resolve(true)) as unknown as () => boolean;
  const at = await waiting({ detail: STATUS, until, hasCode: true });
  const { status, body } = await report(at.harness, at.path, { status: "done" });
  expect({ status, detail: body["detail"] }).toEqual({
    status: 422,
    detail: expect.stringContaining("until of waitFor has to return true or false"),
  });
});

test.each([
  ["a form", "application/x-www-form-urlencoded", "status=done&tag=a&tag=b", { status: "done", tag: ["a", "b"] }],
  ["JSON under a name of its own", "application/cloudevents+json", '{"status":"done"}', { status: "done" }],
  ["JSON that is called text", "text/plain;charset=UTF-8", '{"status":"done"}', { status: "done" }],
  ["nothing", "application/json", "", null],
])("%s is the detail of the event", async (_, type, body, detail) => {
  const at = await waiting({ detail: z.unknown() });
  const { status } = await at.harness.ask({ path: at.path, body, headers: { "content-type": type } }, NOBODY);
  expect(status).toBe(202);
  expect((await beat(at)).last).toContain(`"detail":${JSON.stringify(detail)}`);
});

test.each([
  ["another type", "multipart/form-data; boundary=x", "--x--", 415],
  ["text that is no JSON", "application/json", "{", 400],
  ["a number that would be changed", "text/plain", '{"id":9007199254740993}', 422],
])("%s is refused, and does not use up the link", async (_, type, body, status) => {
  const at = await waiting({ detail: z.unknown() });
  const refused = await at.harness.ask({ path: at.path, body, headers: { "content-type": type } }, NOBODY);
  expect(refused.status).toBe(status);
  expect((await report(at.harness, at.path, { pages: 12 })).status).toBe(202);
});
