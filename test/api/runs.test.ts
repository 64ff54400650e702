/** Runs over HTTP: started once under a key, and shown as the command line shows them. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import type { Shown } from "../../src/operations/views.ts";
import { show } from "../../src/operations/views.ts";
import { fitting } from "../../src/api/operations.ts";
import { send } from "../../src/operations/steer.ts";
import { ANN, type Desk, desk } from "../support/api.ts";
import { attempt, drive, runnerOf } from "../support/drive.ts";
import { never, reachTool, rowOf } from "../support/stage.ts";

const start = (on: Desk, key?: string, input: unknown = {}) =>
  on.ask({
    path: "/runs",
    json: { agent: "actor", input },
    ...(key === undefined ? {} : { headers: { "Idempotency-Key": key } }),
  });

async function started(on: Desk): Promise<string> {
  const { body, status } = await start(on);
  expect(status).toBe(202);
  return String(body["run"]);
}

const payloadOf = (on: Desk, run: string) => {
  const { born, chain, epoch, agent } = rowOf(on, run);
  return { run, born, chain, epoch, agent };
};

describe("a start", () => {
  test("is durable when it is answered, says where the run is, and the run goes on from there", async () => {
    const on = desk();
    const { status, headers, body } = await start(on, "order-42");
    const run = String(body["run"]);
    expect(status).toBe(202);
    expect(headers.get("location")).toBe(`/runs/${run}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body).toEqual({ run, agent: "actor", status: "queued", started: true, resumeToken: expect.any(String) });
    expect([...on.world.chain.executions.values()]).toMatchObject([{ payload: { run, epoch: 0 } }]);
    expect(await drive(runnerOf(on.world, on.agent), payloadOf(on, run))).toMatchObject({ route: "done" });
  });

  test("below a stage says so in its location", async () => {
    const on = desk();
    const { headers, body } = await on.ask({ path: "/runs", json: { agent: "actor" } }, { base: "/prod" });
    expect(headers.get("location")).toBe(`/prod/runs/${String(body["run"])}`);
  });

  test("that is sent again under its key is the same run, as it is by then", async () => {
    const on = desk();
    const first = await start(on, "order-42");
    await drive(runnerOf(on.world, on.agent), payloadOf(on, String(first.body["run"])));
    const again = await start(on, "order-42");
    expect(again.status).toBe(200);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect(again.body).toMatchObject({ run: first.body["run"], started: false, status: "completed" });
    expect(again.body["resumeToken"]).not.toBe(first.body["resumeToken"]);
    expect(on.world.store.rows.size).toBe(1);
  });

  test("that comes again after the data of its run is gone is told how the work ended, and starts nothing", async () => {
    const on = desk();
    const run = String((await start(on, "order-42")).body["run"]);
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    const { statusSince, inputDigest, expiresAtSec } = rowOf(on, run);
    on.clock.moveTo((expiresAtSec ?? 0) * 1_000);
    for (const isDeleted of [false, true]) {
      if (isDeleted) on.world.store.expire(on.clock.now());
      const late = await start(on, "order-42");
      const keptUntil = Math.ceil((statusSince + on.world.limits.keyRetentionMs) / 1_000) * 1_000;
      const known = { status: "completed", at: statusSince, keptUntil, inputDigest };
      expect([late.status, late.body]).toMatchObject([409, { code: "Ended", run, ended: known }]);
      const other = {
        path: "/runs",
        json: { agent: "omnivore", input: 1 },
        headers: { "Idempotency-Key": "order-42" },
      };
      expect((await on.ask(other)).status).toBe(isDeleted ? 200 : 202);
    }
    expect([...on.world.store.rows.values()].map(({ agent }) => agent)).toEqual(["omnivore"]);
  });

  test("without a key is a run of its own each time", async () => {
    const on = desk();
    expect(await started(on)).not.toBe(await started(on));
  });

  test("under one key belongs to one tenant", async () => {
    const on = desk();
    const mine = await start(on, "order-42");
    const request = { path: "/runs", json: { agent: "actor" }, headers: { "Idempotency-Key": "order-42" } };
    const theirs = await on.ask(request, { caller: { tenant: "other", actor: "bob" } });
    expect(theirs.status).toBe(202);
    expect(theirs.body["run"]).toMatch(/^other-/);
    expect(theirs.body["run"]).not.toBe(mine.body["run"]);
  });

  test("of an execution that was not begun is begun by its repetition", async () => {
    let fails = 1;
    const on = desk({}, (world) => ({
      ...world,
      chain: {
        ...world.chain,
        start: (name, payload) => {
          fails -= 1;
          return fails < 0 ? world.chain.start(name, payload) : Promise.reject(new Error("the process is over"));
        },
      },
    }));
    expect((await start(on, "order-42").catch(() => null))?.status).toBe(500);
    expect(on.world.chain.executions.size).toBe(0);
    expect((await start(on, "order-42")).status).toBe(200);
    expect(on.world.chain.executions.size).toBe(1);
  });
});

describe("a run that is looked at", () => {
  test("is the document of the command line at every moment of its life", async () => {
    const on = desk();
    const run = await started(on);
    const look = async () => {
      const { status, body } = await on.ask({ path: `/runs/${run}` });
      expect(status).toBe(200);
      expect(body).toEqual(JSON.parse(JSON.stringify(await show(on.world, run))));
      return body["status"];
    };
    const statuses = [await look()];
    await attempt(runnerOf(on.world, on.agent), payloadOf(on, run));
    statuses.push(await look());
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    expect([...statuses, await look()]).toEqual(["queued", "running", "completed"]);
  });

  test("is not sent again while nothing of it changed, and is when anything did", async () => {
    const on = desk({ effect: "unsafe", approval: "always" });
    const run = await started(on);
    const tags = new Set<string>();
    const changed = async (): Promise<boolean> => {
      const known = [...tags].at(-1) ?? '"none"';
      const { status, headers, text } = await on.ask({ path: `/runs/${run}`, headers: { "If-None-Match": known } });
      const tag = headers.get("etag") ?? "";
      expect(headers.get("cache-control")).toBe("private, no-cache");
      if (status === 304) expect([text, tag]).toEqual(["", known]);
      tags.add(tag);
      return status === 200;
    };
    expect([await changed(), await changed()]).toEqual([true, false]);
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    expect([await changed(), await changed()]).toEqual([true, false]);
    // What waits in the inbox writes no version and no epoch.
    await send(on.world, { run, text: "take the train", by: "ann", id: "w1" });
    expect([await changed(), await changed()]).toEqual([true, false]);
  });

  test("whose owner died is resumable as soon as the lease is over, and its tag says so", async () => {
    const on = desk();
    const run = await started(on);
    await reachTool(on.world, { payload: payloadOf(on, run), agent: on.agent });
    const held = await on.ask({ path: `/runs/${run}` });
    expect(held.body).toMatchObject({ inProgress: true, resumable: false });
    const headers = { "If-None-Match": held.headers.get("etag") ?? "" };
    expect((await on.ask({ path: `/runs/${run}`, headers })).status).toBe(304);
    on.clock.moveTo((rowOf(on, run).leaseUntil ?? 0) + 1);
    const left = await on.ask({ path: `/runs/${run}`, headers });
    expect(left.status).toBe(200);
    expect(left.body).toMatchObject({ inProgress: true, resumable: true, version: held.body["version"] });
  });

  test.each(["*", 'W/"none", %', "%, %", "bare"])("knows its tag in %s", async (form) => {
    const on = desk();
    const run = await started(on);
    const tag = (await on.ask({ path: `/runs/${run}` })).headers.get("etag") ?? "";
    const value = form === "bare" ? tag.replaceAll('"', "") : form.replaceAll("%", `W/${tag}`);
    expect((await on.ask({ path: `/runs/${run}`, headers: { "If-None-Match": value } })).status).toBe(304);
  });

  test("and is purged in the middle of it is not there, and no damage", async () => {
    let run = "";
    const on: Desk = desk({}, (world) => ({
      ...world,
      objects: {
        ...world.objects,
        get: async () => {
          on.world.store.rows.delete(run);
          return null;
        },
      },
    }));
    run = await started(on);
    const { status, body } = await on.ask({ path: `/runs/${run}` });
    expect([status, body["code"]]).toEqual([404, "RunUnknown"]);
    expect(on.records).toEqual([]);
  });

  test("by HEAD is told without its document", async () => {
    const on = desk();
    const run = await started(on);
    const { status, text, headers } = await on.ask({ method: "HEAD", path: `/runs/${run}` });
    expect([status, text]).toEqual([200, ""]);
    expect(headers.get("etag")).toMatch(/^"[\w-]+"$/);
  });
});

describe("a document that is larger than an answer may be", () => {
  const large = "x".repeat(SIZES.httpBodyBytesMax);

  test("is told without its largest parts, and says which", async () => {
    const on = desk();
    const run = await started(on);
    const shown = (await show(on.world, run)) as Shown;
    const call = {
      ...{ call: "c1", tool: "act", key: "k", toolGone: false, answered: false, askFrom: 1 },
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

test("nobody but whoever is named is served, and the open path reads nothing", async () => {
  const untouched = new Proxy({}, { get: () => () => never() });
  const on = desk({}, (world) => ({ ...world, table: untouched, objects: untouched }) as never);
  const nobody = { caller: null };
  expect((await on.ask({ path: "/healthz" }, nobody)).body).toEqual({ status: "ok" });
  for (const path of [`/runs/local-${"a".repeat(26)}`, "/openapi.json", "/nowhere", "/"]) {
    const { status, headers, body } = await on.ask({ path }, nobody);
    expect([status, body["code"]]).toEqual([401, "Unauthenticated"]);
    expect(headers.get("www-authenticate")).toBe("AWS4-HMAC-SHA256");
  }
  expect((await on.ask({ method: "POST", path: "/runs", json: { agent: "actor" } }, nobody)).status).toBe(401);
  expect((await on.ask({ path: "/openapi.json" }, { caller: ANN })).status).toBe(200);
});
