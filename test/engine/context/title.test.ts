/** What lists call a run: the title of its agent, an excerpt of its input, and the key of its start. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/index.ts";
import { type RunLabels, wrongWithLabels } from "../../../src/core/ids.ts";
import type { Json } from "../../../src/core/json.ts";
import { runNames } from "../../../src/engine/context/title.ts";
import { forkRun } from "../../../src/operations/fork.ts";
import { ANY_RUN, listRuns } from "../../../src/operations/list.ts";
import { startRun } from "../../../src/operations/start.ts";
import { show } from "../../../src/operations/views.ts";
import type { TelemetryRecord, World } from "../../../src/ports/world.ts";
import { createChainHarness, createHarness, scriptedAgent } from "../../support/harness/harness.ts";

const titled = (title?: unknown): Agent =>
  ({ ...scriptedAgent({}), task: z.json(), ...(title !== undefined && { title }) }) as unknown as Agent;

async function begin(
  world: World,
  { agent, input, key = null }: { readonly agent: Agent; readonly input: Json; readonly key?: string | null },
) {
  const started = await startRun(world, { agent, input, tenant: "local", idempotencyKey: key });
  return started.kind === "started" ? started.row : expect.fail(started.kind);
}

const titleOf = async (given: { readonly title?: unknown; readonly input: Json; readonly key?: string }) => {
  const alarms: TelemetryRecord[] = [];
  const world = { ...createHarness().world, telemetry: { record: (each: TelemetryRecord) => void alarms.push(each) } };
  const { brief } = await begin(world, { ...given, agent: titled(given.title) });
  return { title: brief?.title, startKey: brief?.startKey, alarms: alarms.filter(({ level }) => level === "alarm") };
};

const bytes = (text: string | undefined): number => Buffer.byteLength(text ?? "");

describe("the title of a run", () => {
  test("is what the function of its agent makes of the task, on one line", async () => {
    const title = ({ task }: { readonly task: { readonly order: string } }) => `refund\n of\u202e ${task.order}`;
    expect(await titleOf({ title, input: { order: "17" } })).toMatchObject({ title: "refund of 17" });
  });

  test.each<[Json, string | undefined]>([
    ["Write a letter.", "Write a letter."],
    [{ question: "Why?" }, "Why?"],
    [{ order: 17, to: "Ada", lines: [1] }, "order: 17, to: Ada"],
    [[1, 2], "[1,2]"],
    [{}, undefined],
  ])("is an excerpt of the input without one: %j", async (input, title) => {
    expect(await titleOf({ input })).toMatchObject({ title });
  });

  test("shows no credential that the name of its member tells apart, alone or through the function of the agent", () => {
    const { world } = createHarness();
    const task = { password: "Tz7-kel-04" };
    const named = (agent: Agent) => runNames(world, { agent, run: "local-1", task, key: null }).title;
    expect(named(titled())).toMatch(/^\[redacted /);
    const title = ({ task: { password } }: { readonly task: { readonly password: string } }) => `log in: ${password}`;
    expect(named(titled(title))).toMatch(/^log in: \[redacted /);
  });

  test.each<[string, unknown, string]>([
    [
      "throws",
      () => {
        throw new Error("no order");
      },
      "threw: no order",
    ],
    ["is a promise", () => Promise.resolve("later"), "is object and not a text"],
    ["is a promise that rejects", () => Promise.reject(new Error("no order")), "is object and not a text"],
    ["is empty", () => " \n", "is empty"],
  ])("is an excerpt where its function %s, with an alarm that says why", async (_, title, why) => {
    const { alarms, ...names } = await titleOf({ title, input: "Write." });
    expect(names.title).toBe("Write.");
    expect(alarms).toMatchObject([{ what: "TitleInvalid", detail: { why: expect.stringContaining(why) } }]);
  });

  test("has at most 60 bytes with the key, in whole characters, and no secret", async () => {
    const long = await titleOf({ input: "ä🎈".repeat(40), key: "order-".repeat(20) });
    expect(bytes(long.title) + bytes(long.startKey)).toBeLessThanOrEqual(60);
    expect(long.title).toMatch(/^(ä🎈)+ä?…$/u);
    expect(long.startKey).toBe("order-order-order-ord…");
    const { title } = await titleOf({ title: () => `as sk-ant-api03-${"a1B2".repeat(24)} says`, input: "x" });
    expect(title).toMatch(/^as \[redacted /);
    // A token that is cut in half has no form that redaction knows.
    const cutInHalf = await titleOf({ title: () => `${"x".repeat(40)} ghp_${"a1B2c3".repeat(6)}`, input: "x" });
    expect(cutInHalf.title).toMatch(/^x{40} \[redacted/);
  });

  test("stays in the row after beats and in a fork, and is found by its beginning and by the key", async () => {
    const harness = createChainHarness();
    const { world } = harness;
    const agent = { ...scriptedAgent({}), title: () => "Refund of order 17" };
    const { run } = await begin(world, { agent, input: {}, key: "order-17-of-a-customer-with-a-long-name" });
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("completed");
    expect(await show(world, run)).toMatchObject({
      title: "Refund of order 17",
      startKey: "order-17-of-a-customer-with-a-long-name",
    });
    const found = async (named: string) =>
      (await listRuns(world, { ...ANY_RUN, tenant: "local", limit: 9, after: null, named })).runs.length;
    for (const named of ["refund of", "ORDER-17", "order-17-of-a-customer-with-a-long-name"])
      expect({ named, found: await found(named) }).toEqual({ named, found: 1 });
    for (const named of ["order 17", "order-17-of-a-customer-with-another"])
      expect({ named, found: await found(named) }).toEqual({ named, found: 0 });
    const forked = await forkRun(world, { run, at: 0, agent, key: null, by: "ann", confirmed: true });
    expect(forked).toMatchObject({ row: { brief: { title: "Refund of order 17" } } });
  });
});

describe("the labels of a run", () => {
  test("stay in the row after beats and in a fork, without secrets, and its children do not get them", async () => {
    const harness = createChainHarness();
    const { world } = harness;
    const agent = scriptedAgent({});
    const labels = { team: "ops", password: "Tz7-kel-04", note: `ghp_${"a1B2c3".repeat(6)}` };
    const started = await startRun(world, { agent, input: {}, tenant: "local", idempotencyKey: "k", labels });
    const { run } = started.kind === "started" ? started.row : expect.fail(started.kind);
    await harness.runUntilIdle(agent);
    const kept = {
      team: "ops",
      password: expect.stringMatching(/^\[redacted /),
      note: expect.stringMatching(/^\[redacted/),
    };
    expect(harness.row(run)).toMatchObject({ status: "completed", brief: { labels: kept } });
    expect((await show(world, run))?.labels).toEqual(kept);
    const of = { run, at: 0, agent, key: null, by: "ann", confirmed: true };
    for (const fork of [of, { ...of, input: {} }])
      expect(await forkRun(world, fork)).toMatchObject({ row: { brief: { labels: kept } } });
  });

  test.each<[string, RunLabels, string | null]>([
    ["fit", { team: "ops", "cost.center_4-x": "1".repeat(64) }, null],
    ["are none", {}, null],
    ["are too many", Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`l${at}`, "x"])), "there are 9 labels"],
    ["have a name in upper case", { Team: "ops" }, '"Team" is no name of a label'],
    ["have a name that is too long", { ["t".repeat(33)]: "ops" }, "is no name of a label"],
    ["have a name that is none in JavaScript", JSON.parse('{"__proto__":"x"}') as RunLabels, "is no name of a label"],
    ["have an empty value", { team: "" }, "the label team needs a value"],
    ["have a value with a space around it", { team: " ops" }, "the label team needs a value"],
    ["have a value on two lines", { team: "ops\nprod" }, "the label team needs a value"],
    ["have a value that is half a character", { team: "\ud800" }, "the label team needs a value"],
    ["have a value of too many bytes", { team: "\u00e4".repeat(33) }, "the label team has more than 64 bytes"],
    [
      "have too many bytes together",
      { a: "x".repeat(64), b: "x".repeat(64), c: "x".repeat(64), d: "x".repeat(61) },
      "the labels have 257 bytes together, and 256 are allowed",
    ],
  ])("are judged: they %s", (_, labels, wrong) => {
    const found = wrongWithLabels(labels);
    if (wrong === null) expect(found).toBeNull();
    else expect(found).toContain(wrong);
  });
});
