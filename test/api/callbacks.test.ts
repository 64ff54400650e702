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
import { rowOf } from "../support/harness/harness.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

const NOBODY = { caller: null };

/** It orders work under its call's key, then waits for the report on it. */
function renderer(orders: { readonly callback: string; readonly key: string }[], lifeMs?: number): Agent {
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
        detail: z.object({ pages: z.number() }),
      }),
    },
    result: ({ calls }) => calls.at(-1)?.result ?? null,
  }) as Agent;
}

async function waiting(lifeMs?: number, limits: Readonly<Record<string, TenantLimits>> = {}) {
  const harness = createApiHarness({}, undefined, ROWS, { limits });
  const orders: { readonly callback: string; readonly key: string }[] = [];
  const agent = renderer(orders, lifeMs);
  const payload = await beginRun(harness.world, agent, {});
  const reply = await drive(runnerOf(harness.world, agent), payload);
  expect([reply.route, rowOf(harness, payload.run).owner]).toEqual(["park", null]);
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
  expect(rowOf(harness, run).status).toBe("completed");
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
  const { harness, path, run } = await waiting(60_000);
  const wrong = [
    path.slice(0, -1),
    `${path}0`,
    path.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    "/callbacks/x",
  ];
  for (const each of wrong) {
    const { status, body, text } = await report(harness, each, { pages: 1 });
    expect([status, body["code"]]).toEqual([404, "CallbackUnknown"]);
    expect(text).not.toContain(run);
  }
  harness.clock.moveTo(harness.clock.now() + 60_000);
  expect(await report(harness, path, { pages: 1 })).toMatchObject({ status: 404 });
});

test("it counts as a request of its run's tenant, unless its token is wrong", async () => {
  const { harness, path } = await waiting(undefined, { local: { requestsPerMinute: 2 } });
  const wrong = await report(harness, `${path}x`, { pages: 3 });
  const answers = [];
  for (let count = 0; count < 3; count += 1) answers.push(await report(harness, path, { pages: 3 }));
  expect([wrong, ...answers].map(({ status }) => status)).toEqual([404, 202, 200, 429]);
});

test("it reports nothing to another run under the same key", async () => {
  const { harness, path, run } = await waiting();
  harness.world.store.rows.set(run, rewriteRow(rowOf(harness, run), { born: "another" }));
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
