/** The schema that a child gets of the answers that its parent takes: it never refuses one that the parent would take. */
import { z } from "zod";
import { expect, test } from "vitest";
import { expectedAnswerOf } from "../../../src/features/children/expected-answer.ts";
import type { ChildRun } from "../../../src/ports/agent.ts";

const child: ChildRun = { agent: "worker", grant: { beats: 1 }, deadlineMs: 1, tries: 2, wait: true };

const fits = (output: z.ZodType, answer: unknown): boolean | null => {
  const { schema } = expectedAnswerOf({ child, output, used: 0 }) ?? {};
  return schema === undefined
    ? null
    : z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(answer).success;
};

test("refuses what has another form", () => {
  const memo = z.object({ memo: z.string(), figures: z.array(z.number()).optional() });
  expect(fits(memo, { memo: "a", figures: [1] })).toBe(true);
  expect([fits(memo, { text: 1 }), fits(memo, { memo: "a", figures: ["x"] }), fits(memo, "")]).toEqual([
    false,
    false,
    false,
  ]);
});

test.each<[string, z.ZodType, unknown]>([
  ["a number in a text, which is made a number", z.object({ price: z.coerce.number() }), { price: "5" }],
  [
    "a text in capitals, which are made small",
    z
      .string()
      .toLowerCase()
      .regex(/^[a-z]+$/),
    "ABC",
  ],
  ["a default", z.object({ memo: z.string().default("none") }), {}],
  ["a member more", z.object({ memo: z.string() }), { memo: "a", more: 1 }],
  [
    "a text in capitals, by a pattern that ignores them",
    z.object({ memo: z.string().regex(/^booked$/i) }),
    { memo: "BOOKED" },
  ],
  ["what catch replaces", z.object({ memo: z.enum(["booked", "failed"]).catch("failed") }), { memo: "done" }],
  ["a GUID that is no UUID", z.object({ id: z.guid() }), { id: "11111111-1111-9111-c111-111111111111" }],
  ["an address by a pattern of its own", z.email({ pattern: z.regexes.html5Email }), "root@localhost"],
  ["what a transform makes", z.string().transform(Number), "5"],
  ["what preprocess makes", z.preprocess(String, z.string()), 5],
])("takes %s", (_, output, answer) => {
  expect(output.safeParse(answer).success).toBe(true);
  expect(fits(output, answer)).not.toBe(false);
});

test("leaves a large schema to the parent", () => {
  const many = z.object(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`member${at}`, z.string()])));
  expect(fits(many, {})).toBeNull();
  expect(fits(z.string(), 1)).toBe(false);
});

test("is none for a child that works without a parent", () => {
  expect(expectedAnswerOf({ child: { ...child, wait: false }, output: z.string(), used: 0 })).toBeUndefined();
});

test("leaves a child the tries that the children before it did not use, and one at least", () => {
  const tries = [0, 1, 2].map((used) => expectedAnswerOf({ child, output: null, used })?.tries);
  expect(tries).toEqual([2, 1, 1]);
});
