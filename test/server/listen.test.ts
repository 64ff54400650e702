/** The port of a server: what answers is loaded at the first request, and a request says that it cannot be. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SCOPES } from "../../src/operations/operation.ts";
import type { TelemetryRecord, World } from "../../src/ports/world.ts";
import { createLocalServer } from "../../src/server/app.ts";
import { listen } from "../../src/server/listen.ts";
import { createHarness } from "../support/harness/harness.ts";
import { closure, readHouse } from "../support/rules/house.ts";

/** A server whose first loads fail with these errors. */
async function listening(failures: readonly Error[]) {
  const noted: TelemetryRecord[] = [];
  const world: World = { ...createHarness().world, telemetry: { record: (each) => void noted.push(each) } };
  const left = [...failures];
  let loads = 0;
  const { url, close } = await listen({
    host: "127.0.0.1",
    port: 0,
    world,
    load: async () => {
      loads += 1;
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      const caller = { tenant: "local", actor: "ann@host", scopes: SCOPES };
      const agents = async () => ({ agents: [], broken: [] });
      return createLocalServer({
        world,
        caller,
        agents,
        agentOf: async () => null,
        login: async () => null,
        firingsOf: () => [],
      });
    },
  });
  onTestFinished(() => close(0));
  return { url, loads: () => loads, noted };
}

test("what answers is loaded once, when the first requests arrive", async () => {
  const { url, loads } = await listening([]);
  expect(loads()).toBe(0);
  const answers = await Promise.all(["/healthz", "/runs", "/nothing"].map((path) => fetch(`${url}${path}`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404]);
  expect(loads()).toBe(1);
});

test("a request says that what answers could not be loaded, the log says why, and the next request loads it", async () => {
  const { url, loads, noted } = await listening([new Error("Cannot find module '/cairn/chunks/app.js'")]);
  const refused = await fetch(`${url}/runs`, { method: "POST", body: "{}" });
  const problem = (await refused.json()) as { readonly instance: string; readonly detail: string };
  expect(refused.status).toBe(500);
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(problem).toMatchObject({ code: "AnswersNotLoaded" });
  expect(problem.detail).not.toContain("/cairn/chunks");
  expect(noted.filter(({ level }) => level === "alarm")).toMatchObject([
    { what: "AnswersNotLoaded", detail: { why: `${problem.instance}: Cannot find module '/cairn/chunks/app.js'` } },
  ]);
  expect((await fetch(`${url}/runs`)).status).toBe(200);
  expect(loads()).toBe(2);
});

/** What only requests need. */
const FOR_REQUESTS =
  /^(src\/server\/(app|server-app)\.ts|src\/api\/(app|routes|document|schemas)\.ts|src\/integrations\/.+|@hono\/.+)$/;

test("a server that is asked nothing has loaded nothing that only requests need", () => {
  const reached = closure(
    readHouse(join(import.meta.dirname, "..", "..")),
    "src/cli/commands/serve.ts",
    ({ erased, deferred }) => !erased && !deferred,
  );
  const loaded = reached.flatMap(({ path, imports }) => [
    path,
    ...imports.filter(({ erased, deferred }) => !erased && !deferred).map(({ from }) => from),
  ]);
  expect(loaded).toContain("src/server/listen.ts");
  expect([...new Set(loaded.filter((each) => FOR_REQUESTS.test(each)))]).toEqual([]);
});
