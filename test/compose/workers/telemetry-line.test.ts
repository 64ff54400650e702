/** What a worker prints of its telemetry. */
import { expect, test } from "vitest";
import { telemetryLine } from "../../../src/compose/workers/telemetry-line.ts";
import type { TelemetryRecord } from "../../../src/ports/world.ts";

const record = (what: string, detail: TelemetryRecord["detail"]): TelemetryRecord => ({
  ...{ at: 0, run: "local-a", level: "trace", what, detail },
});

test("prints the first signal of a crack in one line, and no other signal of it", () => {
  const crack = { crack: "runaway", why: "8 of 10 beats are used" };
  expect(telemetryLine(record("CrackSeen", { ...crack, isFirst: true }))).toBe(
    "local-a gave the first signal of runaway: 8 of 10 beats are used; npx cairn diagnose local-a says what to do",
  );
  expect(telemetryLine(record("CrackSeen", { ...crack, isFirst: false }))).toBeNull();
});

test("prints alarms, long waits and what tools log, and nothing else", () => {
  const alarm = { ...record("TitleInvalid", { why: "it is empty" }), level: "alarm" } as const;
  expect(telemetryLine(alarm)).toBe("alarm TitleInvalid local-a: it is empty");
  const stuck = record("PhaseStuck", { label: "waiting for the model", seconds: 40 });
  expect(telemetryLine(stuck)).toBe("local-a is still waiting for the model, for 40 s now");
  expect(telemetryLine(record("log", { tool: "mail", line: "sent" }))).toBe("local-a mail: sent");
  expect(telemetryLine(record("Spent", { microUsd: 1 }))).toBeNull();
});
