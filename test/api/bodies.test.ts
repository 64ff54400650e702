/** Bodies that would be taken for something else than was sent: altered numbers, and requests that break off. */
import { describe, expect, test } from "vitest";
import { type ApiResponse, createApiHarness } from "../support/harness/api-harness.ts";

const json = { "content-type": "application/json" };
const codeOf = ({ status, body }: ApiResponse) => [status, body["code"]];

/** Some of a body, and then the connection ends. */
const brokenOff = (): ReadableStream<Uint8Array> => {
  const parts = [new TextEncoder().encode('{"agent":"ac')];
  return new ReadableStream({
    pull: (controller) => {
      const part = parts.shift();
      if (part === undefined) controller.error(new TypeError("terminated"));
      else controller.enqueue(part);
    },
  });
};

describe("a request body", () => {
  test.each([
    [
      "with an integer that would be rounded",
      { body: '{"agent":"omnivore","input":{"order":9007199254740993}}', headers: json },
      422,
      "RequestInvalid",
    ],
    [
      "with a number that would become null",
      { body: '{"agent":"omnivore","input":1e400}', headers: json },
      422,
      "RequestInvalid",
    ],
    [
      "that breaks off after such a number",
      { body: '{"agent":"omnivore","input":[9007199254740993', headers: json },
      400,
      "BadJson",
    ],
    [
      "with such a number and another content type",
      { body: "[9007199254740993]", headers: { "content-type": "text/plain" } },
      415,
      "MediaTypeUnsupported",
    ],
  ])("%s is refused", async (_, request, status, code) => {
    const harness = createApiHarness();
    expect(codeOf(await harness.ask({ method: "POST", path: "/runs", ...request }))).toEqual([status, code]);
    expect(harness.world.store.rows.size).toBe(0);
    expect(harness.records).toEqual([]);
  });

  test("names the path of an integer that would be rounded, and accepts the largest safe integer", async () => {
    const harness = createApiHarness();
    const asked = (body: string) => harness.ask({ method: "POST", path: "/runs", body, headers: json });
    const refused = await asked('{"agent":"omnivore","input":{"a/b":[1,{"id":-9007199254740992}]}}');
    expect(refused.body["errors"]).toMatchObject([{ pointer: "#/input/a~1b/1/id" }]);
    const taken = '{"agent":"omnivore","input":{"id":9007199254740991,"text":"9007199254740993","share":0.1}}';
    expect((await asked(taken)).status).toBe(202);
  });

  test.each([
    ["of a known length", { "content-length": "40" }],
    ["of no known length", {}],
  ])("%s that its sender breaks off is no server fault and raises no alarm", async (_, headers) => {
    const harness = createApiHarness();
    const answered = await harness.ask({
      method: "POST",
      path: "/runs",
      stream: brokenOff(),
      headers: { ...json, ...headers },
    });
    expect(codeOf(answered)).toEqual([400, "BodyCutOff"]);
    expect(answered.body["instance"]).toBeUndefined();
    expect(harness.records).toEqual([]);
    expect(harness.world.store.rows.size).toBe(0);
  });
});
