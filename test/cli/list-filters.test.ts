/** `cairn list` by schedule, first signal, time and cost, over a store and over HTTP; and the budget in `cairn show`. */
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { expect, onTestFinished, test } from "vitest";
import { createApi } from "../../src/api/app.ts";
import { sinceTyped } from "../../src/cli/commands/audit-log.ts";
import { runCommand } from "../../src/cli/program.ts";
import { placeLines } from "../../src/render/run.ts";
import { SCOPES } from "../../src/operations/operation.ts";
import type { RunLabels } from "../../src/core/ids.ts";
import type { Row } from "../../src/protocol/row.ts";
import { startRun } from "../../src/operations/start.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { createLocalHarness } from "../support/harness/drive.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { createShell, runCli } from "../support/processes/cli-in-process.ts";

async function filled() {
  const { dir, world } = createLocalHarness();
  const agent = scriptedAgent({});
  const begin = async (tenant: string, isScheduled: boolean): Promise<string> => {
    const started = await startRun(world, { agent, input: {}, tenant, idempotencyKey: null, isScheduled });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row.run;
  };
  const runs = {
    byHand: await begin("local", false),
    nightly: await begin("local", true),
    other: await begin("x", false),
  };
  return { dir, world, agent, ...runs };
}

/** The command line that speaks to an API of this store, as the operator of its machine. */
async function overHttp({ dir, world }: Pick<Awaited<ReturnType<typeof filled>>, "dir" | "world">) {
  const caller = { tenant: "local", actor: "ann", scopes: SCOPES, isOperator: true } as const;
  const api = createApi<object>({ world, baseOf: () => "", callerOf: () => caller, agentOf: async () => null });
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = serve({ fetch: (request) => api.fetch(request, {}), port: 0, hostname: "127.0.0.1" }, ({ port }) =>
    resolve(port),
  );
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${await promise}`;
  return async (_: string, ...words: readonly string[]) => {
    const { shell, said } = createShell({ dir, person: null }, [...words, "--api", url]);
    return { exit: await runCommand(shell, "0"), ...said };
  };
}

const runsIn = (out: string): readonly string[] =>
  out.split("\n").flatMap((line) => (line === "" ? [] : [(JSON.parse(line) as { readonly run: string }).run]));

test.each(["a store", "HTTP"])("finds the same runs over %s", async (over) => {
  const { byHand, nightly, other, ...store } = await filled();
  const type = over === "HTTP" ? await overHttp(store) : runCli;
  const list = async (...words: readonly string[]): Promise<readonly string[]> =>
    runsIn((await type(store.dir, "list", "--json", ...words)).out).toSorted();
  expect(await list()).toEqual([byHand, nightly].toSorted());
  expect(await list("--schedule", store.agent.name)).toEqual([nightly]);
  expect(await list("--schedule", "another")).toEqual([]);
  expect(await list("--since", "1h", "--agent-version", store.agent.version)).toEqual([byHand, nightly].toSorted());
  expect(await list("--since", "2099-01-01")).toEqual([]);
  expect(await list("--above", "0.5")).toEqual([]);
  expect(await list("--crack", "runaway", "--phase", "Preparing")).toEqual([]);
  // Over HTTP the token says whose runs are meant.
  if (over === "a store") expect(await list("--tenant", "x")).toEqual([other]);
  else expect((await type(store.dir, "list", "--tenant", "x")).err).toContain("--tenant cannot be used with --api");
});

test.each(["a store", "HTTP"])(
  "finds runs by labels, by key and by parent over %s, and shows the labels",
  async (over) => {
    const { dir, world, agent } = await filled();
    const type = over === "HTTP" ? await overHttp({ dir, world }) : runCli;
    const begin = async (key: string, labels: RunLabels, parent?: Row): Promise<Row> => {
      const child = parent === undefined ? {} : { parent };
      const started = await startRun(world, {
        agent,
        input: {},
        tenant: "local",
        idempotencyKey: key,
        labels,
        ...child,
      });
      return started.kind === "started" ? started.row : expect.fail(started.kind);
    };
    const both = await begin("order-17", { team: "ops", env: "prod" });
    const one = await begin("order-18", { team: "ops" });
    const child = await begin("child", {}, both);
    const list = async (...words: readonly string[]): Promise<readonly string[]> =>
      runsIn((await type(dir, "list", "--json", ...words)).out).toSorted();
    expect(await list("--label", "team=ops")).toEqual([both.run, one.run].toSorted());
    expect(await list("--label", "team=ops", "--label", "env=prod")).toEqual([both.run]);
    expect(await list("--label", "team=sales")).toEqual([]);
    expect(await list("--key", "order-")).toEqual([both.run, one.run].toSorted());
    for (const parent of [both.run, both.run.slice(0, -8), "order-17"])
      expect(await list("--parent", parent)).toEqual([child.run]);
    expect((await type(dir, "show", "order-17")).out).toMatch(/^labels +env=prod, team=ops$/m);
    const { out } = await type(dir, "list", "--label", "env=prod");
    expect(out).toMatch(/^RUN +AGENT +TITLE +LABELS +STATUS/);
    expect(out).toContain("env=prod, team=ops");
    expect((await type(dir, "list", "--key", "nothing")).out).toMatch(/^no run matches; (?!a row)/);
    const long = "x".repeat(22);
    expect((await type(dir, "list", "--key", long)).out).toContain(
      "a row may keep only 21 bytes of a key: type the whole",
    );
  },
);

test("over HTTP a part of a run's ID is found in one list by the world, and not by reading all runs", async () => {
  const { byHand, dir, world } = await filled();
  const asked: unknown[] = [];
  const list: typeof world.table.list = async (query) => {
    asked.push(query.only);
    return world.table.list(query);
  };
  const type = await overHttp({ dir, world: { ...world, table: { ...world.table, list } } });
  const begins = byHand.slice(0, -8);
  expect((await type(dir, "show", begins)).out).toContain(byHand);
  expect(asked).toEqual([{ beginsWith: begins }]);
});

test("a wrong filter is refused with what fits", async () => {
  const { dir } = await filled();
  for (const [words, what] of [
    [["--above", "much"], "It is an amount of dollars, such as 0.5."],
    [["--above", "-1"], "It is an amount of dollars, such as 0.5."],
    [["--crack", "crash"], "Allowed choices are runaway"],
    [["--since", "lately"], "it is an age such as 2h or 7d"],
    [["--label", "ops"], "the label ops needs a value"],
    [["--label", "Team=ops"], '"Team" is no name of a label: it is 1 to 32 of a to z'],
    [["--label", "team=ops", "--label", "team=sales"], "a label is given twice, and has one value"],
  ] as const) {
    const { exit, err } = await runCli(dir, "list", ...words);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining(what) });
  }
});

test("shows the budget of a run in words", async () => {
  const { dir, byHand } = await filled();
  expect((await runCli(dir, "show", byHand)).out).toMatch(/budget +0 of \d+ beats/);
});

test("shows where a run is in AWS, and nothing of that elsewhere", () => {
  expect(placeLines({ aws: null })).toEqual([]);
  const aws = {
    ...{ executionArn: "arn:x", executionUrl: null, objects: "s3://b/p/", table: "t", rowKey: "{}" },
    ...{ logsQuery: "fields x", logGroups: [] },
  };
  expect(placeLines({ aws })).toEqual([
    ["execution", "arn:x"],
    ["objects", "s3://b/p/"],
    ["row", "t {}"],
  ]);
});

test("a date without a time is a day of the user's zone, in each command", async () => {
  const before = process.env["TZ"];
  onTestFinished(() => {
    if (before === undefined) delete process.env["TZ"];
    else process.env["TZ"] = before;
  });
  process.env["TZ"] = "Pacific/Auckland";
  const { shell } = createShell({ dir: "", person: null }, ["list"]);
  expect(sinceTyped(shell, "2026-11-29", 0)).toBe(Date.UTC(2026, 10, 28, 11));
  expect(sinceTyped(shell, "2026-11-29T09:00+01:00", 0)).toBe(Date.UTC(2026, 10, 29, 8));
  expect(() => sinceTyped(shell, "2026-02-31", 0)).toThrow("2026-02-31 is no time");
});

test("a start that is repeated with other labels says that those of the first one stay", async () => {
  const dir = temporaryDir();
  const agent = join(import.meta.dirname, "../process/fixtures/noted-agent.ts");
  const start = (...labels: readonly string[]) =>
    runCli(dir, "start", agent, "--store", dir, "--key", "k", ...labels.flatMap((label) => ["--label", label]));
  expect(await start("team=ops", "env=prod")).toMatchObject({ exit: 0, err: "" });
  for (const same of [["env=prod", "team=ops"], []])
    expect(await start(...same)).toMatchObject({ exit: 0, out: expect.stringMatching(/^exists/), err: "" });
  const kept = "the run exists, and keeps the labels of its first start: env=prod, team=ops";
  expect(await start("team=sales")).toMatchObject({ exit: 0, err: expect.stringContaining(kept) });
});
