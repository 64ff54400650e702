/** Lists of runs by what they are, and how far one answer looks. */
import { describe, expect, test } from "vitest";
import { ANY_RUN, type RunFilter, listRuns } from "../../src/operations/list.ts";
import type { RunLabels } from "../../src/core/ids.ts";
import { startRun } from "../../src/operations/start.ts";
import type { World } from "../../src/ports/world.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";

const listed = (world: World, of: Partial<RunFilter> & { readonly limit?: number; readonly after?: string | null }) =>
  listRuns(world, { ...ANY_RUN, tenant: "local", limit: 20, after: null, ...of });

async function begin(world: World, version: string): Promise<string> {
  const agent = { ...scriptedAgent({}), version };
  const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: null });
  if (started.kind !== "started") throw new Error(started.kind);
  return started.row.run;
}

const runsOf = async (list: ReturnType<typeof listRuns>) => (await list).runs.map(({ run }) => run);

describe("a list", () => {
  test("has the runs of one version of an agent, and says the version of each", async () => {
    const { world } = createHarness();
    const [first, second] = [await begin(world, "1"), await begin(world, "2")];
    expect(await runsOf(listed(world, { agentVersion: "1" }))).toEqual([first]);
    expect((await listed(world, { agentVersion: "2" })).runs).toMatchObject([{ run: second, agentVersion: "2" }]);
    expect(await runsOf(listed(world, { agentVersion: "3" }))).toEqual([]);
  });

  test("has the runs that were started under a key or one that begins so, whatever their agents", async () => {
    const { world } = createHarness();
    await begin(world, "1");
    const under = async (name: string): Promise<string> => {
      const agent = { ...scriptedAgent({}), name };
      const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "order-17" });
      return started.kind === "started" ? started.row.run : expect.fail(started.kind);
    };
    const [first, second] = [await under("clerk"), await under("other")];
    expect((await runsOf(listed(world, { key: "order-17" }))).toSorted()).toEqual([first, second].toSorted());
    expect(await runsOf(listed(world, { key: "order-17", agent: "clerk" }))).toEqual([first]);
    expect(await runsOf(listed(world, { key: "order-1", agent: "other" }))).toEqual([second]);
    expect(await runsOf(listed(world, { key: "rder-17" }))).toEqual([]);
    expect(await runsOf(listed(world, { key: "Order-1" }))).toEqual([]);
  });

  test("has the runs that were started with all of the labels, whichever way their letters are composed", async () => {
    const { world } = createHarness();
    const agent = scriptedAgent({});
    const labelled = async (labels: RunLabels, idempotencyKey: string | null = null) => {
      const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey, labels });
      return started.kind === "started" || started.kind === "exists" ? started.row.run : expect.fail(started.kind);
    };
    const both = await labelled({ team: "ops", env: "prod" });
    const one = await labelled({ team: "ops", city: "M\u00fcnchen" }, "k");
    expect(await labelled({ team: "sales" }, "k")).toBe(one);
    await begin(world, "1");
    const found = async (...label: readonly string[]) => (await runsOf(listed(world, { label }))).toSorted();
    expect(await found("team=ops")).toEqual([both, one].toSorted());
    expect(await found("env=prod", "team=ops")).toEqual([both]);
    expect(await found("city=Mu\u0308nchen")).toEqual([one]);
    for (const none of ["team=op", "team=sales", "team=OPS", "tea=mops"]) expect(await found(none)).toEqual([]);
    expect((await listed(world, { label: ["env=prod"] })).runs).toMatchObject([
      { labels: { team: "ops", env: "prod" } },
    ]);
  });

  test("has the runs whose ID begins so, found by the world where no status is asked for", async () => {
    const { world } = createHarness();
    const [run, other] = [await begin(world, "1"), await begin(world, "2")];
    const asked: unknown[] = [];
    const list: World["table"]["list"] = async (query) => {
      asked.push(query.only);
      return world.table.list(query);
    };
    const watched = { ...world, table: { ...world.table, list } };
    const begins = run.slice(0, -4);
    expect(await runsOf(listed(watched, { begins }))).toEqual([run]);
    expect(await runsOf(listed(watched, { begins, status: "queued" }))).toEqual([run]);
    expect(await runsOf(listed(watched, { begins, status: "completed" }))).toEqual([]);
    expect(await runsOf(listed(watched, { begins: "local-" }))).toEqual(expect.arrayContaining([run, other]));
    expect(asked).toEqual([{ beginsWith: begins }, {}, {}, { beginsWith: "local-" }]);
  });

  test("has the runs of one phase", async () => {
    const { world } = createHarness();
    const run = await begin(world, "1");
    expect(await runsOf(listed(world, { phase: "Preparing" }))).toEqual([run]);
    expect(await runsOf(listed(world, { phase: "AwaitingApproval" }))).toEqual([]);
  });

  test("has the runs of one schedule, those that began since a time, and those that spent more", async () => {
    const { world, clock } = createHarness();
    const agent = scriptedAgent({});
    const ask = { agent, input: {}, tenant: "local", idempotencyKey: null };
    const byHand = await begin(world, "1");
    clock.moveTo(clock.now() + 10 * 3_600_000);
    const nightly = await startRun(world, { ...ask, isScheduled: true });
    if (nightly.kind !== "started") throw new Error(nightly.kind);
    const { run } = nightly.row;
    expect(await runsOf(listed(world, { schedule: agent.name }))).toEqual([run]);
    expect(await runsOf(listed(world, { schedule: "other" }))).toEqual([]);
    expect(await runsOf(listed(world, { since: clock.now() - 3_600_000 }))).toEqual([run]);
    expect(await runsOf(listed(world, { since: 0 }))).toEqual([run, byHand]);
    expect(await runsOf(listed(world, { usdAbove: 0 }))).toEqual([]);
  });

  test("reads no further than the first page whose runs are older than the time it asks for", async () => {
    const { world } = createHarness();
    await begin(world, "1");
    const [row] = (await world.table.list({ tenant: "local", status: null, limit: 1, after: null, now: 0 })).rows;
    if (row === undefined) throw new Error("no row");
    let reads = 0;
    const hours = (n: number): number => n * 3_600_000;
    const list: World["table"]["list"] = async () => {
      reads += 1;
      const since = hours(100 - reads);
      const rows = [{ ...row, run: `run ${reads}`, statusSince: since, createdAt: since }];
      return { rows, behind: [String(reads)], damaged: [], next: String(reads) };
    };
    const found = await listed({ ...world, table: { ...world.table, list } }, { since: hours(97) });
    expect(found).toMatchObject({ runs: [{ run: "run 1" }, { run: "run 2" }, { run: "run 3" }], more: false });
    expect(reads).toBe(5);
  });

  test("looks at some 10,000 rows for one answer, and goes on behind them by its cursor", async () => {
    const { world } = createHarness();
    await begin(world, "1");
    const [row] = (await world.table.list({ tenant: "local", status: null, limit: 1, after: null, now: 0 })).rows;
    if (row === undefined) throw new Error("no row");
    const total = 24_000;
    let reads = 0;
    const table: World["table"] = {
      ...world.table,
      list: async ({ after, limit }) => {
        reads += 1;
        const from = Number(after ?? 0);
        const places = Array.from({ length: Math.min(limit, total - from) }, (_, index) => from + index + 1);
        const rows = places.map((place) => ({
          ...row,
          run: `run ${place}`,
          agentVersion: place === total ? "2" : "1",
        }));
        const next = from + limit < total ? String(from + limit) : null;
        return { rows, behind: places.map(String), damaged: [], next };
      },
    };
    const large = { ...world, table };
    const [first, second, third] = [{ after: null }, { after: "10000" }, { after: "20000" }];
    expect(await listed(large, { agentVersion: "2", ...first })).toMatchObject({ runs: [], more: true, next: "10000" });
    expect(reads).toBe(20);
    expect(await listed(large, { agentVersion: "2", ...second })).toMatchObject({
      runs: [],
      more: true,
      next: "20000",
    });
    expect(await listed(large, { agentVersion: "2", ...third })).toMatchObject({
      ...{ runs: [{ run: "run 24000" }], more: false, next: null },
    });
  });
});
