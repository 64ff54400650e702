/** A tool that reads a real HTTP server through the memory of its agent: what the server sends whole, and what it confirms. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { expect, onTestFinished, test } from "vitest";
import { defineAgent, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { everyFaultPoint, scriptedModel } from "../../../src/testing/kit/index.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { createHarness } from "../../support/harness/harness.ts";

/** A server with one page per path, whose version the test sets. */
async function pageServer() {
  const page = { etag: '"1"' };
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    const status = request.headers["if-none-match"] === page.etag ? 304 : 200;
    statuses.push(status);
    response.writeHead(status, { etag: page.etag });
    response.end(status === 200 ? `version ${page.etag}` : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { page, statuses, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/page` };
}

function readerOf(url: string, freshMs = 0): Agent {
  const read = tool({
    ...{ input: z.object({}), effect: "none" },
    run: async ({ memory, signal }) => {
      const ask: Parameters<typeof memory.fetch>[1] = async (kept) => {
        const headers = kept === null || kept.etag === null ? {} : { "if-none-match": kept.etag };
        const answer = await fetch(url, { headers, signal });
        if (answer.status === 304) return { kind: "unchanged" };
        return { kind: "fetched", etag: answer.headers.get("etag"), content: await answer.text() };
      };
      return (await memory.fetch(url, ask, { freshMs })).content;
    },
  });
  return defineAgent({
    ...{ name: "reader", version: "1", instructions: "", task: z.object({}), tools: { read } },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => (calls.length < 3 ? { calls: [{ tool: "read", args: {} }] } : { text: "done" }),
    }),
    loops: "ignore",
    result: ({ calls }) => calls.map(({ result }) => result),
  }) as Agent;
}

async function play(harness: ReturnType<typeof createHarness>, agent: Agent, key: string): Promise<void> {
  const { run } = await startKeyedRun(harness.world, { agent, key });
  // The clock stands still while the server answers in real time.
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
}

test("fetches a source whole once in all runs, until it changes", async () => {
  const { page, statuses, url } = await pageServer();
  const harness = createHarness();
  await play(harness, readerOf(url), "a");
  await play(harness, readerOf(url), "b");
  expect(statuses).toEqual([200, 304, 304, 304, 304, 304]);
  page.etag = '"2"';
  await play(harness, readerOf(url), "c");
  expect(statuses.slice(6)).toEqual([200, 304, 304]);
});

test("asks no source that is fresh", async () => {
  const { statuses, url } = await pageServer();
  const harness = createHarness();
  await play(harness, readerOf(url, 86_400_000), "a");
  await play(harness, readerOf(url, 86_400_000), "b");
  expect(statuses).toEqual([200]);
});

test("gives the same content with a kill at every fault point", async () => {
  const { statuses, url } = await pageServer();
  const { uninterrupted, points } = await everyFaultPoint(readerOf(url), { input: {} });
  expect(uninterrupted.result).toEqual(['version "1"', 'version "1"', 'version "1"']);
  // Each play has a store of its own. In none of them is the source fetched whole twice.
  expect(statuses.filter((status) => status === 200)).toHaveLength(points.length + 1);
});
