/** Which world a command speaks to, and what it says where that world is not named. No AWS is reached here. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type Desk, cairn, desk, documentOf, input, queued } from "../../support/cli.ts";

/** Nothing of a real account is found. */
const NAMELESS = { CAIRN_TABLE: "", CAIRN_BUCKET: "", CAIRN_MACHINE: "", CAIRN_WORLD: "" };
const NAMED = {
  CAIRN_TABLE: "cairn",
  CAIRN_BUCKET: "cairn",
  CAIRN_MACHINE: "arn:aws:states:us-east-1:000000000000:stateMachine:cairn",
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  // Nobody listens there.
  AWS_ENDPOINT_URL: "http://127.0.0.1:9",
};

describe("the world aws", () => {
  test("has to be named, wherever it is chosen", async () => {
    const at = desk(NAMELESS);
    const missing = { code: "WorldIncomplete", missing: ["CAIRN_TABLE", "CAIRN_BUCKET", "CAIRN_MACHINE"] };
    for (const words of [["list"], ["start", "clerk", "--input", input()], ["show", "x"], ["approvals"]]) {
      expect(await documentOf(at, [...words, "--world", "aws"])).toMatchObject({ error: missing });
    }
    expect(await documentOf(desk({ ...NAMELESS, CAIRN_WORLD: "aws" }), ["list"])).toMatchObject({ error: missing });
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"], world: "aws" };\n');
    expect(await documentOf(at, ["list"])).toMatchObject({ error: missing });
    // The flag goes before the config.
    await queued({ ...at, env: { ...at.env, CAIRN_WORLD: "local" } }, "note");
    expect((await cairn(at, ["list", "--world", "local"])).exit).toBe(0);
  });

  test("is named by a whole ARN", async () => {
    const { exit, err } = await cairn(desk({ ...NAMED, CAIRN_MACHINE: "cairn" }), ["list", "--world", "aws"]);
    expect(exit).toBe(2);
    expect(err).toContain("arn:aws:states:REGION:ACCOUNT:stateMachine:NAME");
  });

  test("that does not answer is told, with the command to type again", async () => {
    const { exit, err } = await cairn(desk(NAMED), ["list", "--world", "aws"], { bare: true });
    expect(exit).toBe(5);
    expect(err).toContain("the table cairn cannot be used");
    expect(err).toContain("next: npx cairn list --world aws");
  });

  test("needs no supervisor, and takes no agent that was not deployed", async () => {
    const at = desk(NAMED);
    expect(await cairn(at, ["work", "--world", "aws"])).toMatchObject({
      exit: 2,
      err: expect.stringContaining("Step Functions drives every run there"),
    });
    const clerk = readFileSync(join(at.dir, "clerk.ts"), "utf8");
    writeFileSync(join(at.dir, "other.ts"), clerk.replace('name: "clerk"', 'name: "other"'));
    const words = ["start", "./other.ts", "--input", input(), "--world", "aws"];
    expect(await documentOf(at, words)).toMatchObject({ error: { code: "NotDeployed", agent: "other" } });
  });

  test("is one of those that there are", async () => {
    const { exit, err } = await cairn(desk(), ["list", "--world", "moon"]);
    expect(exit).toBe(2);
    expect(err).toContain("there are: local, aws");
  });
});

test("the embedded world loads nothing of AWS", async () => {
  const at = desk();
  const seen = await loadedBy(at, ["start", "clerk", "--input", input("note"), "--wait"]);
  expect(seen.filter((url) => /@aws|@smithy|adapters\/aws/.test(url))).toEqual([]);
  expect(seen.filter((url) => url.includes("adapters/local"))).not.toEqual([]);
  // The same look finds them where they are used.
  const other = await loadedBy({ ...at, env: { ...at.env, ...NAMED } }, ["list", "--world", "aws"]);
  expect(other.filter((url) => /adapters\/aws/.test(url))).not.toEqual([]);
});

/** Every module that a command and its workers load. */
async function loadedBy(at: Desk, words: readonly string[]): Promise<readonly string[]> {
  const spy = join(at.dir, "spy.mjs");
  const list = join(at.dir, "loaded");
  writeFileSync(list, "");
  writeFileSync(
    spy,
    `import { appendFileSync } from "node:fs";
     import { registerHooks } from "node:module";
     registerHooks({ load: (url, context, next) => (appendFileSync(${JSON.stringify(list)}, url + "\\n"), next(url, context)) });`,
  );
  await cairn({ ...at, env: { ...at.env, NODE_OPTIONS: `--import=${pathToFileURL(spy).href}` } }, words);
  return readFileSync(list, "utf8").trim().split("\n");
}
