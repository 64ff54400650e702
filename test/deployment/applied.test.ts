/** What of a deployment reaches LocalStack: all of it, or it says why not. Nothing here needs LocalStack. */
import { describe, expect, test } from "vitest";
import { KINDS, LEFT_OUT, kindOf } from "../../localstack/apply.ts";
import { resolved } from "../../localstack/references.ts";
import { STAGES, deployed } from "./deployed.ts";

describe.each(STAGES)("the description of %s", (stage) => {
  const { resources } = deployed(stage);

  test("contains every resource that LocalStack gets, or names it as left out with a reason", () => {
    expect(resources.length).toBeGreaterThan(50);
    for (const resource of resources) {
      const kind = kindOf(resource);
      expect(() => kind?.check(resource.inputs), resource.name).not.toThrow();
    }
  });

  test("names each resource once, after all resources that it references", () => {
    const before = new Set(["Bootstrap"]);
    for (const { name, inputs } of resources) {
      const named = [...JSON.stringify(inputs).matchAll(/@\{([\w-]+)\./g)].map(([, found = ""]) => found);
      expect(
        named.filter((each) => !before.has(each)),
        name,
      ).toEqual([]);
      expect(before, name).not.toContain(name);
      before.add(name);
    }
  });
});

describe("a resource", () => {
  const { resources } = deployed("production");

  test("has a type that the applier knows or leaves out", () => {
    const known = [...Object.keys(KINDS), ...Object.keys(LEFT_OUT)].toSorted();
    expect([...new Set(resources.map(({ type }) => type))].toSorted()).toEqual(known);
  });

  test("of an unknown type is refused", () => {
    expect(() => kindOf({ type: "aws:glacier/vault:Vault", name: "Cold" })).toThrow(/Cold.*aws:glacier/);
  });

  test("with properties that the applier does not know is refused", () => {
    const queue = resources.find(({ type }) => type === "aws:sqs/queue:Queue");
    const kind = queue && kindOf(queue);
    expect(() => kind?.check({ ...queue?.inputs, fifoQueue: true })).toThrow(/fifoQueue/);
  });
});

describe("a reference", () => {
  const known = new Map([["Api", { id: "a1" }]]);

  test("is replaced in texts, in lists and objects, and in JSON within a text", () => {
    const given = { one: "@{Api.id}", all: ["x/@{Api.id}/y", 1, null], json: JSON.stringify({ at: "@{Api.id}" }) };
    expect(resolved(given, known)).toEqual({ one: "a1", all: ["x/a1/y", 1, null], json: '{"at":"a1"}' });
  });

  test.each(["@{Api.url}", "@{Other.id}"])("to an unknown value is refused: %s", (given) => {
    expect(() => resolved(given, known)).toThrow(/which is not known/);
  });
});
