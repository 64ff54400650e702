import { expect, it } from "vitest";
import { exampleOf } from "../../src/cli/render/example.ts";

it("builds an example input from a schema", () => {
  const properties = { from: { type: "string" }, nights: { type: "integer", default: 3 }, seats: { type: "integer" } };
  const schema = { type: "object", properties, required: ["from", "nights", "seats"] };
  expect(exampleOf(schema)).toEqual({ from: "text", seats: 1 });
  expect([exampleOf({ type: "string" }), exampleOf({})]).toEqual(["text", {}]);
});
