/** `cairn export` and `cairn replay` as people use them: a file that needs no store, held against the agent of today. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  LONG_TIMEOUTS,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
} from "../../support/processes/cli-process.ts";

it("exports a run, and replays it against its agent when only the file is left", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("note", "note"), "--wait"]);
  const id = String(run);
  expect(await runCairnJson(at, ["export", id.slice(0, 12)])).toMatchObject({
    run,
    status: "completed",
    marks: 2,
    calls: 2,
  });
  rmSync(at.store, { recursive: true });
  const words = ["replay", `${id}.jsonl.gz`, "--against", "clerk"];
  const same = await runCairn(at, words);
  expect({ exit: same.exit, out: same.out }).toEqual({
    exit: 0,
    out: expect.stringMatching(/\nevery request is the same\n$/),
  });
  expect(same.out).toContain("done: succeeded, succeeded");

  const code = readFileSync(join(at.dir, "clerk.ts"), "utf8");
  writeFileSync(join(at.dir, "clerk.ts"), code.replace("Do what the task says.", "Do what you like."));
  const other = await runCairn(at, [...words, "--json"]);
  expect(other.exit).toBe(1);
  expect(JSON.parse(other.out)).toMatchObject({
    ...{ run, identical: true, result: "done: succeeded, succeeded" },
    against: { agent: "clerk", differing: 3, first: { reply: 1, whys: ["the instructions are different"] } },
  });
});
