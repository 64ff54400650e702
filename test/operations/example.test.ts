/** Examples of tasks: what an error suggests fits the schema that refused the input. */
import { expect, it, test } from "vitest";
import * as z from "zod";
import { letter } from "../../agents/letter/agent.ts";
import { exampleFor, exampleOf } from "../../src/operations/example.ts";

it("builds an example input from a schema", () => {
  const properties = { from: { type: "string" }, nights: { type: "integer", default: 3 }, seats: { type: "integer" } };
  const schema = { type: "object", properties, required: ["from", "nights", "seats"] };
  expect(exampleOf(schema)).toEqual({ from: "text", seats: 1 });
  expect([exampleOf({ type: "string" }), exampleOf({})]).toEqual(["text", {}]);
});

interface Tree {
  readonly name: string;
  readonly parts: readonly Tree[];
}
const tree: z.ZodType<Tree> = z.object({ name: z.string(), parts: z.lazy(() => z.array(tree)) });

test.each<[string, z.ZodType]>([
  ["a list that may not be empty", letter.task],
  ["a choice of words", z.object({ size: z.enum(["small", "large"]) })],
  ["one fixed word", z.object({ kind: z.literal("order") })],
  ["a union", z.object({ at: z.union([z.object({ day: z.iso.date() }), z.null()]) })],
  [
    "a discriminated union",
    z.discriminatedUnion("kind", [z.object({ kind: z.literal("a"), list: z.array(z.int()).min(2) })]),
  ],
  ["formats", z.object({ mail: z.email(), url: z.url(), day: z.iso.date(), time: z.iso.datetime(), id: z.uuid() })],
  ["bounds of texts", z.object({ code: z.string().min(12), short: z.string().max(2) })],
  [
    "bounds of numbers",
    z.object({ age: z.int().min(18), rate: z.number().gt(0).lt(1), tens: z.int().min(15).multipleOf(10) }),
  ],
  ["a pair", z.object({ pair: z.tuple([z.string(), z.int()]) })],
  ["a type that holds itself", tree],
  ["an optional field", z.object({ more: z.string().optional(), on: z.boolean() })],
])("an example fits %s", async (_, task) => {
  const example = await exampleFor({ task });
  expect(example).not.toBeNull();
  expect((await task.safeParseAsync(example)).success).toBe(true);
});

it("suggests none where a check of the task refuses what it built", async () => {
  expect(await exampleFor({ task: z.object({ code: z.string().regex(/^[0-9]{9}$/) }) })).toBeNull();
});

it("suggests none where a check of the task throws, since the caller asked about another input", async () => {
  const throws = (): boolean => {
    throw new Error("not for this number");
  };
  expect(await exampleFor({ task: z.object({ n: z.number().refine(throws) }) })).toBeNull();
});

it("suggests none that nobody would type, and makes few values on the way", async () => {
  const lists = (depth: number): z.ZodType =>
    depth === 0 ? z.string() : z.array(z.lazy(() => lists(depth - 1))).min(20);
  expect(await exampleFor({ task: z.object({ grid: lists(6) }) })).toBeNull();
  expect(await exampleFor({ task: z.object({ text: z.string().min(1_000), more: z.string().min(1_000) }) })).toBeNull();
  const grid = exampleOf({ type: "array", minItems: 20, items: { type: "array", minItems: 20, items: { $ref: "#" } } });
  expect(JSON.stringify(grid).length).toBeLessThan(100_000);
});
