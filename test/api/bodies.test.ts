/** Bodies that would be taken for something else than was sent: altered numbers, and requests that break off. */
import { describe, expect, test } from "vitest";
import { type Answered, desk } from "../support/api.ts";

const json = { "content-type": "application/json" };
const codeOf = ({ status, body }: Answered) => [status, body["code"]];

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

describe("a body", () => {
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
      "with such a number that is not said to be JSON",
      { body: "[9007199254740993]", headers: { "content-type": "text/plain" } },
      415,
      "MediaTypeUnsupported",
    ],
  ])("%s is refused", async (_, request, status, code) => {
    const on = desk();
    expect(codeOf(await on.ask({ method: "POST", path: "/runs", ...request }))).toEqual([status, code]);
    expect(on.world.store.rows.size).toBe(0);
    expect(on.records).toEqual([]);
  });

  test("says where an integer is that would be rounded, and takes the largest that is not", async () => {
    const on = desk();
    const asked = (body: string) => on.ask({ method: "POST", path: "/runs", body, headers: json });
    const refused = await asked('{"agent":"omnivore","input":{"a/b":[1,{"id":-9007199254740992}]}}');
    expect(refused.body["errors"]).toMatchObject([{ pointer: "#/input/a~1b/1/id" }]);
    const taken = '{"agent":"omnivore","input":{"id":9007199254740991,"text":"9007199254740993","share":0.1}}';
    expect((await asked(taken)).status).toBe(202);
  });

  test.each([
    ["of a known length", { "content-length": "40" }],
    ["of no known length", {}],
  ])("%s that its sender breaks off is no fault, and alarms no operator", async (_, headers) => {
    const on = desk();
    const answered = await on.ask({
      method: "POST",
      path: "/runs",
      stream: brokenOff(),
      headers: { ...json, ...headers },
    });
    expect(codeOf(answered)).toEqual([400, "BodyCutOff"]);
    expect(answered.body["instance"]).toBeUndefined();
    expect(on.records).toEqual([]);
    expect(on.world.store.rows.size).toBe(0);
  });
});
