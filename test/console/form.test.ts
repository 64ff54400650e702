/** The form that starts a run, without a browser. */
import { expect, test } from "vitest";
import { formFields, filledIn } from "../../src/console/model/form.ts";

const choice = { type: "string", enum: ["calm", "cross"] };
const schema = (of: object = {}) => ({
  type: "object",
  properties: { mood: choice, other: choice, sure: { type: "boolean" }, loud: { type: "boolean" } },
  required: ["mood", "sure"],
  ...of,
});

const filledAtFirst = (of: object): unknown => {
  const fields = formFields(of) ?? [];
  return filledIn(fields, Object.fromEntries(fields.map(({ name, first }) => [name, first])));
};

test("gives a value for what must be given, and none that the user did not choose for the rest", () => {
  expect(filledAtFirst(schema())).toEqual({ ok: true, input: { mood: "calm", sure: false } });
  const properties = { other: { ...choice, default: "cross" }, loud: { type: "boolean", default: true } };
  expect(filledAtFirst(schema({ properties }))).toEqual({ ok: true, input: { other: "cross", loud: true } });
});

test("leaves out an optional choice that the user takes back", () => {
  const fields = formFields(schema()) ?? [];
  const typed = { mood: "cross", other: "", sure: "true", loud: "false" };
  expect(filledIn(fields, typed)).toEqual({ ok: true, input: { mood: "cross", sure: true, loud: false } });
});
