/** Whatever user code returns or throws, the functions that read it terminate and never throw. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonical } from "../../src/codec/canonical.ts";
import { redactionOf } from "../../src/codec/redaction/redaction.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { isTooDeep } from "../../src/codec/to-json.ts";
import { asJson, isErrorNamed, sentenceOf, stackOf, toValue } from "../../src/codec/value.ts";
import { failedBy } from "../../src/providers/model-failure.ts";
import { readResult } from "../../src/engine/tools/tool-result.ts";
import { parseArguments } from "../../src/codec/arguments.ts";
import { attemptTool } from "../../src/engine/tools/tool-attempt.ts";
import { externalIdOf, readError } from "../../src/engine/tools/outcome-evidence.ts";
import { recordable } from "../../src/engine/tools/recordable.ts";
import type { Tool } from "../../src/ports/agent.ts";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { AT } from "../support/states/states-and-events.ts";
import {
  HOSTILE_ERRORS,
  HOSTILE_VALUES,
  hostileError,
  hostileValue,
  nested,
} from "../support/values/hostile-values.ts";

const RUNS = { numRuns: 300 };

/** A value that passes the boundary cannot fail in any later step. */
function canBeKept(json: unknown): void {
  expect(isTooDeep(json)).toBe(false);
  expect(JSON.parse(canonical(json))).toEqual(json);
  expect(structuredClone(json)).toEqual(json);
  expect(redactionOf([]).json(json as never)).toBe(json);
  expect(toValue(json as never).value.kind).toMatch(/inline|blob/);
}

const isSentence = (text: string): boolean =>
  text !== "" && text.length <= SIZES.errorCharactersMax + 1 && text.isWellFormed();

describe("a hostile value", () => {
  test.each(HOSTILE_VALUES)("is refused when it is hostile: %s", (_, make) => {
    expect(asJson(make())).toEqual({ ok: false, why: expect.any(String) });
    expect(readResult({ output: null }, make())).toMatchObject({ ok: false, code: "ResultRefused" });
  });

  test("is kept as JSON or refused with a reason", () => {
    fc.assert(
      fc.property(hostileValue, (make) => {
        const parsed = asJson(make());
        if (parsed.ok) canBeKept(parsed.json);
        else expect(isSentence(parsed.why)).toBe(true);
      }),
      RUNS,
    );
  });

  test("reads the same when it is kept, except for members with the value undefined", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(asJson(value)).toEqual({ ok: true, json: JSON.parse(JSON.stringify(value)) });
      }),
      RUNS,
    );
  });

  test.each([101, 2_000, 4_000, 50_000])("of %i levels in a model's arguments is refused with a reason", (depth) => {
    const raw = `${"[".repeat(depth)}${"]".repeat(depth)}`;
    expect(parseArguments(raw)).toEqual({ ok: false, why: expect.stringContaining("nested deeper than 100 levels") });
  });
});

describe("a thrown value", () => {
  test.each(HOSTILE_ERRORS)("has a text and breaks no reader: %s", (_, make) => {
    expect(isSentence(sentenceOf(make()))).toBe(true);
    expect(isErrorNamed(make(), "OutcomeUnknown")).toBe(false);
    expect(typeof (stackOf(make()) ?? "")).toBe("string");
    expect(failedBy(make(), "a-secret-key")).toMatchObject({ kind: "failed", retryable: false });
  });

  test("has a text whatever it is", () => {
    fc.assert(
      fc.property(hostileError, (make) => {
        const thrown = make();
        expect(isSentence(sentenceOf(thrown))).toBe(true);
        isErrorNamed(thrown, "Rejected");
        stackOf(thrown);
        expect(failedBy(thrown, "").kind).toBe("failed");
      }),
      RUNS,
    );
  });
});

const rules = (of: Partial<Tool>): Tool => of as Tool;

describe("a tool", () => {
  const call = (run: Tool["run"]) =>
    attemptTool({ tool: rules({ run }), context: {} as never, timeoutMs: 1_000, graceMs: 10, clock: virtualClock(AT) });

  test("counts as returned whatever it returns", async () => {
    await fc.assert(
      fc.asyncProperty(hostileValue, async (make) => {
        expect(await call(make)).toMatchObject({ kind: "returned" });
      }),
      RUNS,
    );
  });

  test("counts as thrown whatever it throws or rejects with", async () => {
    await fc.assert(
      fc.asyncProperty(hostileError, fc.boolean(), async (make, isLate) => {
        const thrown = make();
        const run = isLate ? () => Promise.reject(thrown) : () => fail(thrown);
        const ended = await call(run);
        expect({ kind: ended.kind, isThrown: ended.kind === "threw" && Object.is(ended.error, thrown) }).toEqual({
          kind: "threw",
          isThrown: true,
        });
      }),
      RUNS,
    );
  });

  test("may throw or return anything in its rules, and no exception escapes", () => {
    fc.assert(
      fc.property(hostileError, hostileValue, (makeError, makeValue) => {
        const [thrown, value] = [makeError(), makeValue()];
        for (const onExists of [() => value, () => fail(thrown)]) readError(rules({ onExists }), thrown);
        for (const redact of [() => value as never, () => fail(thrown)]) {
          canBeKept(recordable(rules({ redact }), { a: 1 }, "result"));
        }
        for (const externalId of [() => value as never, () => fail(thrown)]) externalIdOf(rules({ externalId }), 1);
      }),
      RUNS,
    );
  });
});

function fail(thrown: unknown): never {
  throw thrown;
}

test("detects too deep nesting without recursion", () => {
  expect([isTooDeep(nested(SIZES.jsonDepthMax)), isTooDeep(nested(SIZES.jsonDepthMax + 1))]).toEqual([false, true]);
  expect(isTooDeep(nested(1_000_000))).toBe(true);
});
