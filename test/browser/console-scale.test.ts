/**
 * The console over a store of 10,000 runs, one of them with 2,000 beats: what the first paint needs, and what a scrolled
 * frame costs. Counts are asserted; times are printed, since they are the machine's.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCliFolder, runCairnJson } from "../support/processes/cli-process.ts";
import { type Scrolled, scroll } from "./frames.ts";
import { openPage, startServer, waitForRun } from "./harness.ts";
import { openStore, atomically } from "../../src/adapters/local/store/database.ts";
import { sqliteRunTable } from "../../src/adapters/local/store/run-table.ts";
import { checksumOf } from "../../src/codec/checksum.ts";
import { storedRow } from "../../src/adapters/local/store/row-text.ts";

/** Adds that many copies of the run to the store in `dir`, each a second older than the one before it. */
async function addCopies(dir: string, { run, count }: { readonly run: string; readonly count: number }): Promise<void> {
  const store = openStore({ dir, create: false });
  try {
    const row = await sqliteRunTable(store).read(run, 0);
    if (row === null) throw new Error(`there is no run ${run}`);
    const insert = store.rows.prepare(
      `INSERT INTO runs (run, tenant, agent, asks, status, statusSince, alive, expiresAtSec, row, journal, parts)
       VALUES (:run, :tenant, :agent, 0, :status, :statusSince, 0, :expiresAtSec, :row, :journal, :parts)`,
    );
    const { tenant, agent, status, expiresAtSec } = row;
    atomically(store, () => {
      for (let index = 1; index <= count; index += 1) {
        const at = row.createdAt - index * 1_000;
        const run = `${tenant}-${index.toString(2).replaceAll("0", "a").replaceAll("1", "b").padStart(26, "a")}`;
        const copy = { ...row, run, createdAt: at, statusSince: at, lastCheckpointAt: at, journal: null };
        const checked = { ...copy, checksum: checksumOf(copy) };
        insert.run({ run, tenant, agent, status, statusSince: at, expiresAtSec, ...storedRow(checked) });
      }
    });
  } finally {
    store.close();
  }
}

const RUNS = 10_000;
const BEATS = 2_000;

/** Makes a call in each beat, until its last one. */
const PACER = `
import { defineAgent, react, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

export const pacer = defineAgent({
  ...{ name: "pacer", version: "1", instructions: "Go on.", task: z.object({ beats: z.int() }) },
  ...{ topology: react({ maxBeats: 5_000 }), price: { inUsd: 1, outUsd: 1 }, budget: { usd: 100, beats: 5_000 } },
  model: scriptedModel({
    name: "pacer-model",
    reply: ({ task, calls: { length } }) =>
      length + 1 >= task.json.beats
        ? { text: "There.", tokensIn: 500, tokensOut: 20 }
        : { text: "Step " + length + ".", calls: [{ tool: "step", args: { length } }], tokensIn: 500, tokensOut: 20 },
  }),
  tools: {
    step: tool({ effect: "keyed", input: z.object({ length: z.int() }), run: ({ input }) => ({ walked: input.length }) }),
  },
});
`;

const at = createCliFolder({}, afterAll);
let url = "";
let run = "";

beforeAll(async () => {
  writeFileSync(join(at.dir, "pacer.ts"), PACER);
  writeFileSync(
    join(at.dir, "cairn.config.ts"),
    'export const config = { agents: ["./pacer.ts"], beatsPerInvocation: 200 };\n',
  );
  run = String((await runCairnJson(at, ["start", "pacer", "--input", JSON.stringify({ beats: BEATS })]))["run"]);
  ({ url } = await startServer(at, "dev"));
  await waitForRun(url, run, { status: "completed", beats: BEATS });
  await addCopies(at.store, { run, count: RUNS - 1 });
});

/**
 * Counts the requests of a page, without those of its polls. It polls two pages of runs and the approvals, as often as
 * the time of a test allows.
 */
function countRequests(page: Page): () => number {
  let [all, polls] = [0, 0];
  page.on("request", (request) => {
    all += 1;
    if (request.url().endsWith("/approvals")) polls += 1;
  });
  return () => all - 3 * polls;
}

const print = (what: string, counts: object): void =>
  console.log(
    `${what} (${cpus().length} × ${cpus()[0]?.model ?? "?"}): ${Object.entries(counts)
      .map(([name, value]) => `${name} ${String(value)}`)
      .join(", ")}`,
  );

/** No frame lays out more than once for the scroll and once for what it draws. */
function expectSmooth(what: string, of: Scrolled, elementsMax: number): void {
  print(what, of);
  expect({ what, hasFewElements: of.elements <= elementsMax, hasFewLayouts: of.layoutsPerFrame <= 3 }).toEqual({
    what,
    hasFewElements: true,
    hasFewLayouts: true,
  });
}

const PAINTED = `(() => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const read = all.filter(({ responseEnd, transferSize }) => responseEnd > 0 && transferSize > 0);
  return {
    ms: paint === undefined ? null : Math.round(paint.startTime),
    requests: read.map(({ name }) => new URL(name).pathname.replace(/-[\\w-]+\\./, ".")),
    bytes: read.reduce((sum, each) => sum + each.transferSize, 0),
  };
})()`;

interface Painted {
  readonly ms: number | null;
  readonly requests: readonly string[];
  readonly bytes: number;
}

test("paints with a page, a script and a style alone, before the API answers, and then shows the newest runs", async () => {
  const { page, troubles } = await openPage();
  const rest = (to: URL): boolean => !/^\/(console\/.*)?$/.test(to.pathname);
  // Requests to the API stay without an answer.
  await page.route(rest, () => undefined);
  await page.goto(url);
  const painted = (): Promise<Painted> => page.evaluate<Painted>(PAINTED);
  await expect.poll(async () => (await painted()).ms).not.toBeNull();
  const { requests, bytes } = await painted();
  // The browser reads the icon of the tab when it has time, before or after that.
  expect(requests.filter((path) => path !== "/console/icon.svg")).toEqual([
    ...["/", "/console/index.js", "/console/index.css"],
  ]);
  expect(bytes).toBeLessThan(310_000);
  await page.unrouteAll();
  await page.goto("about:blank");
  await page.goto(url);
  await expect.poll(() => page.getByRole("listitem").count()).toBeGreaterThan(5);
  print("first paint", {
    ms: (await painted()).ms,
    bytes,
    rowsMs: await page.evaluate("Math.round(performance.now())"),
  });
  expect(troubles).toEqual([]);
});

test("scrolls 10,000 runs with the rows in sight only, and without a request for a frame", async () => {
  const { page, troubles } = await openPage();
  const asked = countRequests(page);
  await page.goto(url);
  await expect.poll(() => page.getByRole("button", { name: /^All/ }).innerText()).toContain(String(RUNS));
  expect(asked()).toBeLessThan(60);
  const before = asked();
  const scrolled = await scroll(page, { over: ".list", turns: 120, pixels: 2_000 });
  expectSmooth("10,000 runs", scrolled, 900);
  expect(await page.getByRole("listitem").count()).toBeLessThan(60);
  expect(asked() - before).toBeLessThan(scrolled.frames);
  expect(troubles).toEqual([]);
});

const VIEWS = [
  ["timeline", ".timeline", 2_600],
  ["timeline&view=compact", ".timeline", 1_800],
  ["transcript", ".measured", 1_200],
  ["why", ".page.scrolls", 1_200],
  ["state", ".page.scrolls", 2_400],
  ["cost", ".page.scrolls", 1_200],
  ["family", ".page.scrolls", 1_200],
  ["audit", ".page.scrolls", 1_200],
] as const;

test("scrolls each view of a run of 2,000 beats, and draws what is in sight only", async () => {
  const { page, troubles } = await openPage();
  const asked = countRequests(page);
  await page.goto(`${url}/#/run/${run}`);
  await expect.poll(() => page.locator(".minimap").getAttribute("aria-label")).toContain("2000 beats");
  print("run of 2,000 beats", { requests: asked() });
  expect(asked()).toBeLessThan(80);
  for (const [tab, over, elementsMax] of VIEWS) {
    await page.goto(`${url}/#/run/${run}?tab=${tab}`);
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
    await expect.poll(() => page.locator(over).first().isVisible()).toBe(true);
    expectSmooth(tab, await scroll(page, { over, turns: 30, pixels: 1_500 }), elementsMax);
  }
  expect(troubles).toEqual([]);
});
