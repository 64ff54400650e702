/** The bytes of an input are read or refused alike at each door: a file, stdin and the API. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJson } from "../../src/cli/input.ts";
import { temporaryDir } from "../process/fixtures/store.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

const JSON_TEXT = '{"to":"Zoë"}';

function readFrom(door: "a file" | "stdin", bytes: Buffer): Promise<unknown> {
  const dir = temporaryDir();
  writeFileSync(join(dir, "input.json"), bytes);
  const { shell } = createShell({ dir, person: null, stdin: bytes }, ["start", "traveller"]);
  return readJson(shell, { option: "--input", text: door === "stdin" ? "-" : "@input.json" });
}

describe.each(["a file", "stdin"] as const)("%s", (door) => {
  test.each([
    ["without a mark", Buffer.from(JSON_TEXT)],
    ["with a byte order mark", Buffer.from(`\u{feff}${JSON_TEXT}`)],
  ])("in UTF-8 %s is read", async (_, bytes) => {
    expect(await readFrom(door, bytes)).toEqual({ to: "Zoë" });
  });

  test.each([
    ["Latin-1", Buffer.from(JSON_TEXT, "latin1"), "it is not UTF-8: line 1"],
    ["UTF-16", Buffer.from(`\u{feff}${JSON_TEXT}`, "utf16le"), "it is UTF-16"],
  ])("in %s is refused with what converts it", async (_, bytes, why) => {
    const error = await readFrom(door, bytes).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ trouble: { code: "InputEncoding", why: expect.stringContaining(why) } });
    expect(error).toMatchObject({ trouble: { why: expect.stringContaining("iconv") } });
  });
});

test.each([
  [
    "UTF-8 with a byte order mark",
    Buffer.from(`\u{feff}{"agent":"traveller","input":{"to":"Oslo","nights":[]}}`),
    undefined,
  ],
  ["Latin-1", Buffer.from('{"agent":"traveller","input":{"to":"Malmö"}}', "latin1"), "BadJson"],
])("a request in %s is read or refused as a file is", async (_, body, code) => {
  const headers = { "content-type": "application/json" };
  const answer = await createApiHarness().ask({ path: "/runs", headers, body: Uint8Array.from(body) });
  expect({ status: answer.status, code: answer.body["code"] }).toEqual({
    status: code === undefined ? 202 : 400,
    code,
  });
});
