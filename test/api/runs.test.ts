/** Runs over HTTP: started once under a key, and shown as the command line shows them. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import type { Shown } from "../../src/operations/views.ts";
import { show } from "../../src/operations/views.ts";
import { fitting } from "../../src/api/fitting.ts";
import { send } from "../../src/operations/steer.ts";
import { ANN, type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { attemptBeat, drive, runnerOf } from "../support/harness/drive.ts";
import { neverSettles, reachTool, scriptedAgent } from "../support/harness/harness.ts";

const start = (harness: ApiHarness, key?: string, input: unknown = {}) =>
  harness.ask({
    path: "/runs",
    json: { agent: "actor", input },
    ...(key === undefined ? {} : { headers: { "Idempotency-Key": key } }),
  });

async function started(harness: ApiHarness): Promise<string> {
  const { body, status } = await start(harness);
  expect(status).toBe(202);
  return String(body["run"]);
}

const payloadOf = (harness: ApiHarness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

describe("a start", () => {
  test("is durable when the response arrives, has the run's location, and the run continues from there", async () => {
    const harness = createApiHarness();
    const { status, headers, body } = await start(harness, "order-42");
    const run = String(body["run"]);
    expect(status).toBe(202);
    expect(headers.get("location")).toBe(`/runs/${run}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({
      run,
      agent: "actor",
      status: "queued",
      started: true,
      resumeToken: expect.any(String),
      statusSince: expect.any(Number),
    });
    expect([...harness.world.chain.executions.values()]).toMatchObject([{ payload: { run, epoch: 0 } }]);
    expect(await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run))).toMatchObject({
      route: "done",
    });
  });

  test("returns a location below its stage", async () => {
    const harness = createApiHarness();
    const { headers, body } = await harness.ask({ path: "/runs", json: { agent: "actor" } }, { base: "/prod" });
    expect(headers.get("location")).toBe(`/prod/runs/${String(body["run"])}`);
  });

  test("that is repeated under its key returns the same run in its present state", async () => {
    const harness = createApiHarness();
    const first = await start(harness, "order-42");
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, String(first.body["run"])));
    const again = await start(harness, "order-42");
    expect(again.status).toBe(200);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(again.body).toMatchObject({ run: first.body["run"], started: false, status: "completed" });
    expect(again.body["resumeToken"]).not.toBe(first.body["resumeToken"]);
    expect(harness.world.store.rows.size).toBe(1);
  });

  test("that is repeated after the run's data was removed returns the end of the run and starts nothing", async () => {
    const harness = createApiHarness();
    const run = String((await start(harness, "order-42")).body["run"]);
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    const { statusSince, inputDigest, expiresAtSec } = harness.row(run);
    harness.clock.moveTo((expiresAtSec ?? 0) * 1_000);
    for (const isDeleted of [false, true]) {
      if (isDeleted) harness.world.store.expire(harness.clock.now());
      const late = await start(harness, "order-42");
      const keptUntil = Math.ceil((statusSince + harness.world.limits.keyRetentionMs) / 1_000) * 1_000;
      const known = { status: "completed", at: statusSince, keptUntil, inputDigest };
      expect({ status: late.status, body: late.body }).toMatchObject({
        status: 409,
        body: { code: "Ended", run, ended: known },
      });
      const other = {
        path: "/runs",
        json: { agent: "omnivore", input: 1 },
        headers: { "Idempotency-Key": "order-42" },
      };
      expect((await harness.ask(other)).status).toBe(isDeleted ? 200 : 202);
    }
    expect([...harness.world.store.rows.values()].map(({ agent }) => agent)).toEqual(["omnivore"]);
  });

  test("without a key starts another run each time", async () => {
    const harness = createApiHarness();
    expect(await started(harness)).not.toBe(await started(harness));
  });

  test("under one key belongs to one tenant", async () => {
    const harness = createApiHarness();
    const mine = await start(harness, "order-42");
    const request = { path: "/runs", json: { agent: "actor" }, headers: { "Idempotency-Key": "order-42" } };
    const theirs = await harness.ask(request, { caller: { tenant: "other", actor: "bob" } });
    expect(theirs.status).toBe(202);
    expect(theirs.body["run"]).toMatch(/^other-/);
    expect(theirs.body["run"]).not.toBe(mine.body["run"]);
  });

  test("is completed by its repetition when its execution was not started", async () => {
    let fails = 1;
    const harness = createApiHarness({}, (world) => ({
      ...world,
      chain: {
        ...world.chain,
        start: (name, payload) => {
          fails -= 1;
          return fails < 0 ? world.chain.start(name, payload) : Promise.reject(new Error("the process is over"));
        },
      },
    }));
    expect((await start(harness, "order-42").catch(() => null))?.status).toBe(500);
    expect(harness.world.chain.executions.size).toBe(0);
    expect((await start(harness, "order-42")).status).toBe(200);
    expect(harness.world.chain.executions.size).toBe(1);
  });
});

describe("a run that is read", () => {
  test("equals the document of the command line in every phase", async () => {
    const harness = createApiHarness();
    const run = await started(harness);
    const look = async () => {
      const { status, body } = await harness.ask({ path: `/runs/${run}` });
      expect(status).toBe(200);
      expect(body).toEqual(JSON.parse(JSON.stringify(await show(harness.world, run))));
      return body["status"];
    };
    const statuses = [await look()];
    await attemptBeat(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    statuses.push(await look());
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    statuses.push(await look());
    expect(statuses).toEqual(["queued", "running", "completed"]);
  });

  test("is not sent again while it is unchanged, and is sent again after any change", async () => {
    const harness = createApiHarness({ effect: "unsafe", approval: "always" });
    const run = await started(harness);
    const tags = new Set<string>();
    const changed = async (): Promise<boolean> => {
      const known = [...tags].at(-1) ?? '"none"';
      const { status, headers, text } = await harness.ask({
        path: `/runs/${run}`,
        headers: { "If-None-Match": known },
      });
      const tag = headers.get("etag") ?? "";
      expect(headers.get("cache-control")).toBe("private, no-cache");
      if (status === 304) expect({ text, tag }).toEqual({ text: "", tag: known });
      tags.add(tag);
      return status === 200;
    };
    expect([await changed(), await changed()]).toEqual([true, false]);
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    expect([await changed(), await changed()]).toEqual([true, false]);
    // What waits in the inbox writes no version and no epoch.
    await send(harness.world, { run, text: "take the train", by: "ann", id: "w1" });
    expect([await changed(), await changed()]).toEqual([true, false]);
  });

  test("whose owner died is resumable as soon as the lease expires, and its ETag changes", async () => {
    const harness = createApiHarness();
    const run = await started(harness);
    await reachTool(harness.world, { payload: payloadOf(harness, run), agent: harness.agent });
    const held = await harness.ask({ path: `/runs/${run}` });
    expect(held.body).toMatchObject({ inProgress: true, resumable: false });
    const headers = { "If-None-Match": held.headers.get("etag") ?? "" };
    expect((await harness.ask({ path: `/runs/${run}`, headers })).status).toBe(304);
    harness.clock.moveTo((harness.row(run).leaseUntil ?? 0) + 1);
    const left = await harness.ask({ path: `/runs/${run}`, headers });
    expect(left.status).toBe(200);
    expect(left.body).toMatchObject({ inProgress: true, resumable: true, version: held.body["version"] });
  });

  test.each(["*", 'W/"none", %', "%, %", "bare"])("accepts its ETag in %s", async (form) => {
    const harness = createApiHarness();
    const run = await started(harness);
    const tag = (await harness.ask({ path: `/runs/${run}` })).headers.get("etag") ?? "";
    const value = form === "bare" ? tag.replaceAll('"', "") : form.replaceAll("%", `W/${tag}`);
    expect((await harness.ask({ path: `/runs/${run}`, headers: { "If-None-Match": value } })).status).toBe(304);
  });

  test("and is purged during the read is reported as missing, not as damaged", async () => {
    let run = "";
    const harness: ApiHarness = createApiHarness({}, (world) => ({
      ...world,
      objects: {
        ...world.objects,
        get: async () => {
          harness.world.store.rows.delete(run);
          return null;
        },
      },
    }));
    run = await started(harness);
    const { status, body } = await harness.ask({ path: `/runs/${run}` });
    expect({ status, code: body["code"] }).toEqual({ status: 404, code: "RunUnknown" });
    expect(harness.records).toEqual([]);
  });

  test("may be named by the whole key of its start, for a read and a change, unless several agents have one", async () => {
    const agents = async () => ({
      agents: ["actor", "omnivore"].map((name) => ({ ...scriptedAgent({}), name })),
      broken: [],
    });
    const harness = createApiHarness({}, undefined, undefined, { agents });
    const run = String((await start(harness, "order/17")).body["run"]);
    expect(await harness.ask({ path: "/runs/order%2F17" })).toMatchObject({ status: 200, body: { run } });
    expect(await harness.ask({ path: "/runs/order%2F17/ledger" })).toMatchObject({ status: 200, body: { calls: [] } });
    expect(await harness.ask({ path: "/runs/order%2F17/pause", json: {} })).toMatchObject({ status: 202 });
    expect(harness.row(run).pause).toBe(true);
    const unknown = { status: 404, body: { code: "RunUnknown" } };
    expect(await harness.ask({ path: "/runs/order%2F1" })).toMatchObject(unknown);
    expect(await harness.ask({ path: "/runs/order%2F17" }, { caller: { ...ANN, tenant: "other" } })).toMatchObject(
      unknown,
    );
    const key = { "Idempotency-Key": "order/17" };
    const second = await harness.ask({ path: "/runs", json: { agent: "omnivore", input: {} }, headers: key });
    const ambiguous = await harness.ask({ path: "/runs/order%2F17" });
    expect(ambiguous).toMatchObject({ status: 404, body: { code: "RunAmbiguous" } });
    expect(ambiguous.body["detail"]).toContain(`${run} (actor) or ${String(second.body["run"])} (omnivore)`);
  });

  test("is found by the labels of its start, which are checked before anything is stored", async () => {
    const harness = createApiHarness();
    const labels = { team: "ops", env: "prod" };
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor", input: {}, labels } });
    await start(harness);
    const listed = async (query: string) => (await harness.ask({ path: `/runs?${query}` })).body["runs"];
    const found = [{ run: body["run"], labels }];
    expect(await listed("label=team%3Dops")).toMatchObject(found);
    expect(await listed("label=team=ops&label=env=prod")).toMatchObject(found);
    expect(await listed("label=team=ops&label=env=test")).toEqual([]);
    expect((await harness.ask({ path: `/runs/${String(body["run"])}` })).body).toMatchObject({ labels });
    for (const wrong of ["team", "team=", "Team=ops", "label=team=ops&label=x"])
      expect(await harness.ask({ path: `/runs?label=${wrong}` })).toMatchObject({
        ...{
          status: 422,
          body: {
            errors: [{ parameter: expect.stringMatching(/^label/), detail: expect.stringContaining("name=value") }],
          },
        },
      });
    const before = [...harness.world.chain.executions.keys()];
    for (const [wrong, detail] of [
      [{ Team: "ops" }, "is no name of a label"],
      [{ team: "" }, "needs a value"],
      [{ team: 1 }, "expected string"],
      [["team=ops"], "expected record"],
    ] as const) {
      const refused = await harness.ask({ path: "/runs", json: { agent: "actor", input: {}, labels: wrong } });
      expect(refused).toMatchObject({ status: 422, body: { errors: [{ detail: expect.stringContaining(detail) }] } });
    }
    expect([...harness.world.chain.executions.keys()]).toEqual(before);
  });

  test("by HEAD has no body", async () => {
    const harness = createApiHarness();
    const run = await started(harness);
    const { status, text, headers } = await harness.ask({ method: "HEAD", path: `/runs/${run}` });
    expect({ status, text }).toEqual({ status: 200, text: "" });
    expect(headers.get("etag")).toMatch(/^"[\w-]+"$/);
  });
});

describe("a document that exceeds the size limit of a response", () => {
  const large = "x".repeat(SIZES.httpBodyBytesMax);

  test("omits its largest parts and names them", async () => {
    const harness = createApiHarness();
    const run = await started(harness);
    const shown = (await show(harness.world, run)) as Shown;
    const call = {
      ...{
        call: "c1",
        tool: "act",
        key: "k",
        toolGone: false,
        unbegun: null,
        lostTime: false,
        did: [],
        answered: false,
        reconcilableFrom: 1,
      },
      ...{ business: false, otherwise: "ask" as const, undo: false },
      args: large,
    };
    const rest = { status: "blocked", messages: 3 } as const;
    expect(fitting({ ...shown, ...rest, task: large })).toEqual({ ...shown, ...rest, task: null, omitted: ["#/task"] });
    expect(fitting({ ...shown, ...rest, result: large, unknown: [call] })).toEqual({
      ...{ ...shown, ...rest, task: null, unknown: [{ ...call, args: null }] },
      omitted: ["#/task", "#/result", "#/unknown/*/args"],
    });
    expect(fitting(shown)).toEqual(shown);
  });
});

test("only identified callers are served, and the open route reads no store", async () => {
  const untouched = new Proxy({}, { get: () => () => neverSettles() });
  const harness = createApiHarness({}, (world) => ({ ...world, table: untouched, objects: untouched }) as never);
  const nobody = { caller: null };
  expect((await harness.ask({ path: "/healthz" }, nobody)).body).toEqual({ status: "ok" });
  for (const path of [`/runs/local-${"a".repeat(26)}`, "/openapi.json", "/nowhere", "/"]) {
    const { status, headers, body } = await harness.ask({ path }, nobody);
    expect({ status, code: body["code"] }).toEqual({ status: 401, code: "Unauthenticated" });
    expect(headers.get("www-authenticate")).toBe("AWS4-HMAC-SHA256");
  }
  expect((await harness.ask({ method: "POST", path: "/runs", json: { agent: "actor" } }, nobody)).status).toBe(401);
  expect((await harness.ask({ path: "/openapi.json" }, { caller: ANN })).status).toBe(200);
});
