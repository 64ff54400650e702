/** What the functions share: the life of one invocation, what their environment has to say, and what they print. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { invocation } from "../../functions/invocation.ts";
import { systemClock } from "../../src/adapters/aws/clock.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { TaskResult } from "../../src/protocol/chain.ts";
import { DIMENSION, NAMESPACE } from "../../src/adapters/aws/metrics.ts";
import { NO_SECRETS } from "../../src/ports/secrets.ts";
import { StoreUnreachable, type TelemetryRecord } from "../../src/ports/world.ts";
import { WriteUnresolved } from "../../src/history/resolve-ambiguous-write.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const limits = limitsFor(60_000);
const NOW = 1_790_000_000_000;
const records: TelemetryRecord[] = [];
const at = (leftMs: number) => ({
  context: { getRemainingTimeInMillis: () => leftMs },
  world: {
    ...{ limits, secrets: NO_SECRETS, clock: systemClock },
    telemetry: { record: (record: TelemetryRecord) => void records.push(record) },
  },
});
const reply = { run: "lane-x", born: "b", chain: 1, epoch: 2, agent: "clerk", route: "beat", seconds: 1 } as const;

describe("an invocation", () => {
  beforeEach(() => void vi.useFakeTimers({ now: NOW }));
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  test("ends at Lambda's deadline, and is asked to drain before that", async () => {
    const seen: (readonly [at: number, drained: boolean])[] = [];
    await invocation(at(20_000), async ({ deadline, drain }) => {
      expect(deadline).toBe(NOW + 20_000);
      for (const ms of [14_999, 2]) {
        await vi.advanceTimersByTimeAsync(ms);
        seen.push([Date.now() - NOW, drain.aborted]);
      }
      return { kind: "sweep" };
    });
    expect(seen).toEqual([
      [14_999, false],
      // The process reads what has arrived first (schedule 230).
      [20_000 - limits.drainMs + 1, true],
    ]);
    // Nothing of it fires within a later invocation.
    expect(vi.getTimerCount()).toBe(0);
  });

  test("without the time to drain is asked to drain at once", async () => {
    const drained = invocation(at(1_000), async ({ drain }) => {
      await vi.advanceTimersByTimeAsync(1);
      return { kind: "orphans", next: String(drain.aborted) };
    });
    expect(await drained).toEqual({ kind: "orphans", next: "true" });
  });

  test("schedule 28: ends its process without a response when a call outlived its timeout", async () => {
    const exits: unknown[] = [];
    vi.spyOn(process, "exit").mockImplementation((code) => {
      exits.push(code);
      throw new Error("gone");
    });
    const outlived = async (): Promise<TaskResult> => ({ kind: "exit", reply });
    await expect(invocation(at(9_000), outlived)).rejects.toThrow("gone");
    expect(exits).toEqual([1]);
    expect(await invocation(at(9_000), async () => ({ kind: "beat", reply }))).toEqual({
      kind: "beat",
      reply,
    });
    expect(exits).toHaveLength(1);
  });

  test("that fails leaves no timer", async () => {
    const failing = invocation(at(9_000), () => Promise.reject(new Error("no store")));
    await expect(failing).rejects.toThrow("no store");
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("an invocation that fails", () => {
  const raised = async (error: Error): Promise<readonly TelemetryRecord[]> => {
    records.length = 0;
    const failing = async (): Promise<TaskResult> => {
      throw error;
    };
    await expect(invocation({ ...at(9_000), run: "lane-x" }, failing)).rejects.toBe(error);
    return records;
  };

  test.each([
    new StoreUnreachable("the table runs cannot be used"),
    new WriteUnresolved("a write was sent 4 times without an answer"),
  ])("because a store does not respond raises an alarm, without any store: $name", async (error) => {
    const detail = { why: error.message };
    const alarm = { run: "lane-x", level: "alarm", what: "StoreUnavailable", detail };
    expect(await raised(error)).toEqual([{ ...alarm, at: expect.any(Number) }]);
  });

  test("for another reason raises none", async () => {
    expect(await raised(new TypeError("no function"))).toEqual([]);
  });
});

/** What a process of its own prints; Powertools writes past the console of this one. */
function printedBy(code: string, env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    encoding: "utf8",
  });
  return { status, stderr, lines: stdout.trim().split("\n") };
}

describe("schedule 78: a process in which a tool may still act", () => {
  /** An invocation throws while a call is under way that would act later, in the same warm process. */
  const throwing = (isSaid: boolean): string => `
    import { invocation } from ${urlOf("functions/invocation.ts")};
    import { systemClock } from ${urlOf("src/adapters/aws/clock.ts")};
    const acts = setTimeout(() => console.log("acted within a later invocation"), 50);
    const context = { getRemainingTimeInMillis: () => 9_000 };
    const world = { limits: { drainMs: 10 }, clock: systemClock };
    await invocation({ world, context }, async ({ mustEnd }) => {
      if (${isSaid}) mustEnd();
      throw new Error("the table is away");
    }).catch((error) => console.log("answered:", error.message));`;

  test("ends with an invocation that throws, before it responds", () => {
    const { status, stderr, lines } = printedBy(throwing(true));
    expect({ status, lines }).toEqual({ status: 1, lines: [""] });
    expect(stderr).toMatch(/^this process ends, because something in it may still act: Error: the table is away/);
  });

  test("is the only process to end: after another error it responds and serves the next invocation", () => {
    const { status, lines } = printedBy(throwing(false));
    expect({ status, lines }).toEqual({
      status: 0,
      lines: ["answered: the table is away", "acted within a later invocation"],
    });
  });
});

const urlOf = (path: string): string => JSON.stringify(pathToFileURL(join(ROOT, path)).href);

test("telemetry is one line per record, and one line for all metrics in which it counts", () => {
  const trace: TelemetryRecord = { at: NOW, run: "lane-x", level: "trace", what: "RunStarted", detail: { epoch: 1 } };
  const claim: TelemetryRecord = { ...trace, what: "RunClaimed", detail: { overtook: true } };
  const alarm: TelemetryRecord = { ...trace, level: "alarm", what: "Unreadable", detail: { why: "it has format 9" } };
  const { lines, stderr } = printedBy(
    `import { lambdaTelemetry } from ${urlOf("src/adapters/aws/telemetry.ts")};
     const telemetry = lambdaTelemetry({ deployment: "cairn-dev", service: "beat" });
     for (const record of ${JSON.stringify([trace, claim, alarm])}) telemetry.record(record);`,
  );
  // Lambda takes both streams for one log.
  const printed = [...lines, ...stderr.trim().split("\n")];
  const [first, claimed, claims, alarms, raised, ...more] = printed.map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  expect(more).toEqual([]);
  expect(first).toMatchObject({
    level: "INFO",
    message: "RunStarted",
    service: "beat",
    run: "lane-x",
    detail: { epoch: 1 },
  });
  expect(claimed).toMatchObject({ level: "INFO", message: "RunClaimed" });
  expect(raised).toMatchObject({ level: "ERROR", message: "Unreadable", run: "lane-x" });
  const written = (names: readonly string[]) => ({
    _aws: {
      Timestamp: expect.any(Number),
      CloudWatchMetrics: [
        { Namespace: NAMESPACE, Dimensions: [[DIMENSION]], Metrics: names.map((Name) => ({ Name, Unit: "Count" })) },
      ],
    },
    [DIMENSION]: "cairn-dev",
    ...Object.fromEntries(names.map((name) => [name, 1])),
  });
  expect(claims).toEqual(written(["Beats", "Takeovers"]));
  expect(alarms).toEqual(written(["Unreadable"]));
});

test("a function without the names of its stores does not start", () => {
  const code = `import { settingsOf } from ${urlOf("functions/settings.ts")};
    const { table, limits } = settingsOf("beat");
    console.log(table, limits.beatMs, limits.chainClaimsMax);`;
  const named = { CAIRN_TABLE: "t", CAIRN_BUCKET: "b", CAIRN_MACHINE: "m" };
  const { status, stderr } = printedBy(code, named);
  expect(status).toBe(1);
  expect(stderr).toContain("CAIRN_BEAT_SECONDS is not set: the deployment of this function is not complete");
  const whole = { ...named, CAIRN_BEAT_SECONDS: "30", CAIRN_LIMITS: '{"chainClaimsMax":9}' };
  expect(printedBy(code, whole).lines).toEqual(["t 30000 9"]);
});
