/** A run whose model's provider is away fails, is redriven from the command line, and completes; others are refused. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  askCairn,
  LONG_TIMEOUTS,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
} from "../../support/processes/cli-process.ts";
import { AWAY } from "../../support/processes/away-agent.ts";

it("redrives a run that failed because of infrastructure, and records the operator", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "away.ts"), AWAY);
  const failed = await runCairn(at, ["start", "./away.ts", "--input", "{}", "--key", "k", "--wait"]);
  expect({ exit: failed.exit, out: failed.out }).toEqual({
    exit: 1,
    out: expect.stringContaining("■ failed, ModelUnavailable"),
  });
  const { run: id } = await runCairnJson(at, ["start", "./away.ts", "--input", "{}", "--key", "k"]);
  const run = String(id);
  expect((await askCairn(at, ["show", run])).out).toContain(`npx cairn redrive ${run}`);
  writeFileSync(join(at.store, "back"), "");
  const words = ["redrive", run, "--by", "ada", "--why", "it is back"];
  const redriven = await runCairn(at, words);
  expect({ exit: redriven.exit, out: redriven.out }).toEqual({
    exit: 0,
    out: expect.stringContaining("continues from its last checkpoint"),
  });
  const late = await runCairn(at, words);
  expect({ exit: late.exit, err: late.err }).toEqual({ exit: 4, err: expect.stringContaining("error Late") });
  const again = await runCairn(at, ["start", "./away.ts", "--input", "{}", "--key", "k", "--wait"]);
  expect({ exit: again.exit, out: again.out }).toEqual({ exit: 0, out: expect.stringContaining("here") });
  expect((await askCairn(at, ["timeline", run])).out).toContain("↻ redriven by ada after ModelUnavailable: it is back");
});

it("refuses a run that failed by itself, and a missing one", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  const { run } = await runCairnJson(at, ["start", "clerk", "--input", stepsInput("despair"), "--wait"]);
  const refused = await runCairn(at, ["redrive", String(run), "--json"]);
  expect({ exit: refused.exit, out: JSON.parse(refused.out) }).toEqual({
    exit: 4,
    out: {
      error: expect.objectContaining({ code: "NotInfrastructure", why: expect.stringContaining("ModelUnavailable") }),
    },
  });
  const nobody = await runCairn(at, ["redrive", "nobody"]);
  expect({ exit: nobody.exit, err: nobody.err }).toEqual({ exit: 3, err: expect.stringContaining("error RunUnknown") });
});
