/** Which world a command speaks to, and what it says where that world is not named. No AWS is reached here. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import {
  type CliFolder,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  startQueuedRun,
} from "../../support/processes/cli-process.ts";
import { SOURCE_MAIN } from "../../support/processes/program.ts";

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
    const at = createCliFolder(NAMELESS);
    const missing = { code: "WorldIncomplete", missing: ["CAIRN_TABLE", "CAIRN_BUCKET", "CAIRN_MACHINE"] };
    for (const words of [["list"], ["start", "clerk", "--input", stepsInput()], ["show", "x"], ["approvals"]]) {
      expect(await runCairnJson(at, [...words, "--world", "aws"])).toMatchObject({ error: missing });
    }
    expect(await runCairnJson(createCliFolder({ ...NAMELESS, CAIRN_WORLD: "aws" }), ["list"])).toMatchObject({
      error: missing,
    });
    writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./clerk.ts"], world: "aws" };\n');
    expect(await runCairnJson(at, ["list"])).toMatchObject({ error: missing });
    // The flag goes before the config.
    await startQueuedRun({ ...at, env: { ...at.env, CAIRN_WORLD: "local" } }, "note");
    expect((await runCairn(at, ["list", "--world", "local"])).exit).toBe(0);
  });

  test("is named by a whole ARN", async () => {
    const { exit, err } = await runCairn(createCliFolder({ ...NAMED, CAIRN_MACHINE: "cairn" }), [
      "list",
      "--world",
      "aws",
    ]);
    expect(exit).toBe(2);
    expect(err).toContain("arn:aws:states:REGION:ACCOUNT:stateMachine:NAME");
  });

  test("that does not respond is reported, with a command that looks for the cause", async () => {
    const { exit, err } = await runCairn(createCliFolder(NAMED), ["list", "--world", "aws"], { bare: true });
    expect(exit).toBe(5);
    expect(err).toContain("the table cairn cannot be used");
    expect(err).toContain("next: npx cairn doctor --world aws");
  });

  test("needs no supervisor, and accepts only deployed agents", async () => {
    const at = createCliFolder(NAMED);
    expect(await runCairn(at, ["work", "--world", "aws"])).toMatchObject({
      exit: 2,
      err: expect.stringContaining("Step Functions drives every run there"),
    });
    const clerk = readFileSync(join(at.dir, "clerk.ts"), "utf8");
    writeFileSync(join(at.dir, "other.ts"), clerk.replace('name: "clerk"', 'name: "other"'));
    const words = ["start", "./other.ts", "--input", stepsInput(), "--world", "aws"];
    expect(await runCairnJson(at, words)).toMatchObject({ error: { code: "NotDeployed", agent: "other" } });
  });

  test("is listed among the existing worlds", async () => {
    const { exit, err } = await runCairn(createCliFolder(), ["list", "--world", "moon"]);
    expect(exit).toBe(2);
    expect(err).toContain("there are: local, aws");
  });
});

test("the embedded world loads nothing of AWS", async () => {
  // The files of the package are bundles, whose names do not say what is in them.
  const at = { ...createCliFolder(), main: SOURCE_MAIN };
  const seen = await loadedBy(at, ["start", "clerk", "--input", stepsInput("note"), "--wait"]);
  expect(seen.filter((url) => /@aws|@smithy|adapters\/aws/.test(url))).toEqual([]);
  expect(seen.filter((url) => url.includes("adapters/local"))).not.toEqual([]);
  // The same look finds them where they are used.
  const other = await loadedBy({ ...at, env: { ...at.env, ...NAMED } }, ["list", "--world", "aws"]);
  expect(other.filter((url) => /adapters\/aws/.test(url))).not.toEqual([]);
});

/** Every module that a command and its workers load. */
async function loadedBy(at: CliFolder, words: readonly string[]): Promise<readonly string[]> {
  const spy = join(at.dir, "spy.mjs");
  const list = join(at.dir, "loaded");
  writeFileSync(list, "");
  writeFileSync(
    spy,
    `import { appendFileSync } from "node:fs";
     import { registerHooks } from "node:module";
     registerHooks({ load: (url, context, next) => (appendFileSync(${JSON.stringify(list)}, url + "\\n"), next(url, context)) });`,
  );
  await runCairn({ ...at, env: { ...at.env, NODE_OPTIONS: `--import=${pathToFileURL(spy).href}` } }, words);
  return readFileSync(list, "utf8").trim().split("\n");
}
