/** MCP servers that say nothing, and functions of users that a connection waits for, in runs and in the connection. */
import { expect, test } from "vitest";
import { punctually, systemClock } from "../../src/adapters/local/clock.ts";
import { withSources } from "../../src/engine/context/agent-sources.ts";
import { askInTime } from "../../src/engine/tools/ask-in-time.ts";
import type { Clock } from "../../src/ports/world.ts";
import { mcpServer } from "../../src/mcp-tools/server.ts";
import { createHarness, neverSettles, scriptedAgent } from "../support/harness/harness.ts";
import { playAttempts, waitsForCode } from "../support/harness/silent-code.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { NO_SECRETS } from "./desk.ts";

const CONNECT_MS = 100;

test("a process that speaks no MCP makes its run wait, and no process of cairn dies", async () => {
  const harness = createHarness();
  const source = mcpServer({ name: "mute", command: "sleep", args: ["3600"], connectMs: CONNECT_MS });
  const played = await playAttempts(harness, { ...scriptedAgent({}), sources: [source] });
  assertSafety("no beat is a death", () =>
    expect({ deaths: played.row.deaths, status: played.row.status }).toEqual({ deaths: 0, status: "blocked" }),
  );
  expect(waitsForCode(played)).toBe(1);
  expect(played.timeline).toContain("MCP server mute");
});

test("a function of the user that gives no variables ends the attempt to connect, and the next one asks it again", async () => {
  let asked = 0;
  const env = (): Promise<never> => {
    asked += 1;
    return neverSettles();
  };
  const source = mcpServer({ name: "mute", command: "sleep", args: ["3600"], env, connectMs: CONNECT_MS });
  const list = (now: number) => source.list({ secrets: NO_SECRETS, mayBeOld: false, now });
  await expect(list(0)).rejects.toThrow("MCP server mute cannot be reached: it was not connected within 200 ms");
  await expect(list(100_000)).rejects.toThrow("it was not connected");
  expect(asked).toBe(2);
});

test("a server that does not answer in what a beat has left is late, and the attempt goes on for the others", async () => {
  const source = mcpServer({ name: "mute", command: "sleep", args: ["3600"], connectMs: CONNECT_MS });
  const { world } = createHarness();
  const patient = source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 });
  const failed = patient.catch((error: unknown) => error);
  const agent = { ...scriptedAgent({}), sources: [source] };
  // No time is left to this beat, whatever the machine does meanwhile.
  const over: Clock = { ...systemClock, after: (_, call) => punctually(0, call) };
  const beat = { world: { ...world, clock: over }, row: { run: "r" }, leftMs: 10 };
  const found = await withSources(
    world,
    { kind: "agent", agent, model: {} as never },
    { mayBeOld: false, ask: ({ label }, list) => askInTime(beat, { what: label }, () => list(beat.leftMs)) },
  );
  // A late server alone releases a run that had a reply: the next beat has more time for it.
  expect(found).toMatchObject({ kind: "absent", isLate: true });
  expect(String(await failed)).toContain("MCP server mute cannot be reached");
});
