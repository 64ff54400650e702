/**
 * A tool that changes a function of the language in a real worker, beside runs that have nothing to do with it. No run is
 * lost, none counts a death, and the run of that tool is blocked at the second time.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { openStore } from "../../src/adapters/local/store/database.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { startRun } from "../../src/operations/start.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { Row } from "../../src/protocol/row.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { assertSafety, waitUntil } from "../support/gate/safety.ts";
import { sampled } from "../support/gate/stride.ts";
import { scriptedAgent } from "../support/harness/harness.ts";
import { LONG_TIMEOUTS, askCairnJson, createCliFolder, spawnCairn } from "../support/processes/cli-process.ts";

const NEIGHBOURS = 5;

/** How a tool breaks something. */
const BREAKS = {
  "Array.prototype.map": "Array.prototype.map = () => [];",
  "Array.prototype.toJSON":
    "Object.defineProperty(Array.prototype, 'toJSON', { value: () => 'x', configurable: true });",
  "Promise.prototype.then": "Promise.prototype.then = function () { return this; };",
  "Map.prototype.get": "Map.prototype.get = () => undefined;",
  Map: "globalThis.Map = class extends Map { get() {} };",
  "Buffer.from": "Buffer.from = () => Buffer.alloc(1);",
  "TypedArray.prototype.subarray": "Object.getPrototypeOf(Uint8Array.prototype).subarray = () => new Uint8Array();",
  "String.prototype.replace": "String.prototype.replace = () => '';",
  "Object.prototype": "Object.prototype.format = 'mine';",
} as const;

const agentText = (breaks: string, isLate: boolean) => `
import { setTimeout as wait } from "node:timers/promises";
import { defineAgent, scriptedModel, tool } from "cairn-run";
import { z } from "zod";

const input = z.object({ n: z.int() });
export const mixed = defineAgent({
  name: "mixed", version: "1", instructions: "", task: z.object({ ruins: z.boolean() }),
  model: scriptedModel({
    name: "m",
    reply: ({ task, calls }) =>
      calls.length < 4
        ? { calls: [{ tool: task.json.ruins && calls.length === 1 ? "ruin" : "note", args: { n: calls.length } }] }
        : { text: "done" },
  }),
  tools: {
    note: tool({ effect: "none", input, run: async ({ input }) => { await wait(50); return [input.n].map((n) => n + 1); } }),
    ruin: tool({ effect: "keyed", input, run: async () => { ${isLate ? "await wait(20);" : ""} ${breaks} ${isLate ? "await wait(20);" : ""} return "ruined"; } }),
  },
});`;

/** It cannot be taken back, so the report of the process has to be written beside it. */
const FOR_GOOD = ["Object.prototype", "Object.defineProperty(Object.prototype, 'toJSON', { get: () => () => 'x' });"];

const ALL = [...Object.entries(BREAKS), FOR_GOOD].map(([name = "", breaks = ""], index) => ({
  name,
  breaks,
  isLate: index % 2 === 1,
  when: index % 2 === 1 ? "after a pause" : "at once",
}));

/**
 * In the gate: methods that are called at once, by each promise and after a pause, and what cannot be taken back.
 * `test/sdk/watched-intrinsics.test.ts` shows that each function that codec, protocol and engine call is watched.
 */
const GATE = new Set(["Array.prototype.map", "Promise.prototype.then", "Map.prototype.get", FOR_GOOD[0]]);
const CASES = sampled(
  ALL.filter(({ name, breaks }) => GATE.has(name) && (name !== FOR_GOOD[0] || breaks === FOR_GOOD[1])),
  ALL,
);

it.each(CASES)(
  "blocks the run whose tool changes $name $when, and completes the others",
  async ({ name, breaks, isLate }) => {
    const at = createCliFolder(LONG_TIMEOUTS);
    writeFileSync(join(at.dir, "clerk.ts"), agentText(breaks, isLate));
    const store = openStore({ dir: at.store, create: true });
    const world = withKernel(localWorld({ store, limits: limitsFor(60_000), telemetry: { record: () => {} } }));
    const runs: string[] = [];
    for (let index = 0; index <= NEIGHBOURS; index += 1) {
      const agent = { ...scriptedAgent({}), name: "mixed", task: z.object({ ruins: z.boolean() }) };
      const started = await startRun(world, {
        agent,
        input: { ruins: index === 0 },
        tenant: "local",
        idempotencyKey: null,
      });
      if (started.kind !== "started") throw new Error(started.kind);
      runs.push(started.row.run);
    }
    const supervisor = spawnCairn(at, ["work", "--json", "--workers", "1"]);
    const rows = async (): Promise<readonly (Row | null)[]> =>
      Promise.all(runs.map((run) => world.table.read(run, world.clock.now())));
    const expected = runs.map((_, index) => (index === 0 ? "blocked" : "completed"));
    await waitUntil(async () => expect((await rows()).map((row) => row?.status)).toEqual(expected), LIMITS.sceneMs);
    supervisor.child.kill("SIGTERM");
    await supervisor.ended;
    const [ruined = "", ...others] = runs;
    const deaths = (await rows()).map((row) => row?.deaths);
    assertSafety("no run counts a death", () => expect(deaths).toEqual(runs.map(() => 0)));
    for (const run of runs) {
      const verified = await verify(world, { run });
      assertSafety("each run is as it was written", () =>
        expect(verified).toMatchObject({ readable: true, findings: [] }),
      );
    }
    expect(others).toHaveLength(NEIGHBOURS);
    const shown = await askCairnJson(at, ["show", ruined]);
    expect(shown).toMatchObject({
      status: "blocked",
      waitsFor: {
        kind: "operator",
        mends: "code",
        code: "IntrinsicChanged",
        why: expect.stringContaining(`the tool ruin changed ${name} `),
      },
    });
    expect(supervisor.out() + supervisor.err()).not.toContain("Unreadable");
    store.close();
  },
);
