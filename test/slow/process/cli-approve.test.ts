/** A call that has to be approved: the run waits without a process, and each decision goes its own way. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, describe, expect, it } from "vitest";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  runCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";
import { nightTest } from "../../support/gate/stride.ts";

const START = ["start", "clerk", "--input", stepsInput("pay"), "--key", "k", "--wait"];

/** A run that waits at its gate; nobody works on the store any more. */
async function gated({ onTestFinished }: TestContext): Promise<{ readonly at: CliFolder; readonly run: string }> {
  const at = createCliFolder({}, onTestFinished);
  const { exit, out } = await runCairn(at, START);
  expect({ exit, out }).toEqual({
    exit: 4,
    out: expect.stringMatching(/\? may pay \(c1\) run\? this tool always needs approval/),
  });
  const run = /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "";
  for (const way of ["approve", "deny"]) expect(out).toContain(`npx cairn ${way} ${run} c1 --store ${at.store}`);
  return { at, run };
}

describe.concurrent("a call that needs approval", () => {
  it("is listed with its frozen arguments, and runs when it is approved", async (context) => {
    const { at, run } = await gated(context);
    const [open, ...others] = parseJsonLines((await askCairn(at, ["approvals", "--json"])).out);
    expect(open).toMatchObject({ run, agent: "clerk", call: "c1", tool: "pay", args: { step: 1 }, decided: false });
    expect(open).toMatchObject({ argsHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    expect(others).toEqual([]);
    expect(await askCairnJson(at, ["show", run])).toMatchObject({
      status: "waiting",
      inProgress: true,
      resumable: true,
    });
    const said = ["approve", run, "--note", "it is cheap"];
    expect(await runCairnJson(at, said)).toMatchObject({ run, call: "c1", as: "approve", accepted: true });
    const again = await askCairn(at, ["deny", run]);
    expect({ exit: again.exit, err: again.err }).toEqual({ exit: 4, err: expect.stringContaining("error Duplicate:") });
    expect((await askCairn(at, ["approvals"])).out).toContain(
      "no call waits for an approval, an answer or a reconciliation",
    );
    const { exit, out } = await runCairn(at, START);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("done: succeeded") });
    expect(out).toMatch(/pay \(c1\) is approved by .*: it is cheap/);
  });

  it("does not run when it is denied, and the model gets the denial", async (context) => {
    const { at, run } = await gated(context);
    expect(await askCairnJson(at, ["deny", run, "c1"])).toMatchObject({ as: "deny", accepted: true });
    const { exit, out } = await runCairn(at, START);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("done: failed") });
    const late = await askCairn(at, ["approve", run]);
    expect({ exit: late.exit, err: late.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("waits for no approval"),
    });
  });

  nightTest("runs with other arguments under another key, and those have to fit the tool", async (context) => {
    const { at, run } = await gated(context);
    const key = async () => parseJsonLines((await askCairn(at, ["ledger", run, "--json"])).out)[0]?.["key"];
    const before = await key();
    const said = ["approve", run, "c1", "--args", '{"step":7}'];
    expect(await runCairnJson(at, said)).toMatchObject({ as: "edit", args: { step: 7 }, accepted: true });
    expect((await runCairn(at, START)).exit).toBe(0);
    expect(await key()).not.toBe(before);
    expect((await askCairn(at, ["timeline", run])).out).toMatch(/changed and approved by[^]*paid for step 7/);
  });

  nightTest(
    "refuses arguments that do not fit the tool before anything is sent, and names the path",
    async (context) => {
      const { at, run } = await gated(context);
      const said = ["approve", run, "c1", "--args", '{"step":"seven"}'];
      const { exit, err } = await runCairn(at, said);
      expect({ exit, err }).toEqual({
        exit: 2,
        err: expect.stringMatching(/error ArgumentsInvalid: the arguments do not fit the tool of c1/),
      });
      expect(err).toMatch(/why: step: Invalid input[^]*nothing was sent/);
      expect(err).toMatch(/next: npx cairn approve \S+ c1 --args JSON/);
      expect(await runCairnJson(at, said)).toMatchObject({ error: { code: "ArgumentsInvalid" } });
      expect(await askCairnJson(at, ["show", run])).toMatchObject({ gates: [{ call: "c1", decided: false }] });
      // Where the agent's file is gone nothing can be checked: the decision waits for a beat, which asks again.
      const file = join(at.dir, "clerk.ts");
      renameSync(file, `${file}.away`);
      expect(await runCairnJson(at, said)).toMatchObject({ accepted: true, stage: "waits" });
      renameSync(`${file}.away`, file);
      const again = await runCairn(at, START);
      expect({ exit: again.exit, out: again.out }).toEqual({
        exit: 4,
        out: expect.stringMatching(/do not fit pay: step: Invalid input/),
      });
      expect(await askCairnJson(at, ["show", run])).toMatchObject({ gates: [{ call: "c1", args: { step: 1 } }] });
    },
  );

  nightTest("that is approved and then cancelled shows the fate of the approval in every view", async (context) => {
    const { at, run } = await gated(context);
    const gate = String(((await askCairnJson(at, ["show", run]))["gates"] as { gate: string }[])[0]?.gate);
    const said = await askCairn(at, ["approve", run]);
    expect({ exit: said.exit, out: said.out }).toEqual({
      exit: 0,
      out: expect.stringContaining("the decision waits in the inbox"),
    });
    expect((await askCairn(at, ["cancel", run])).exit).toBe(0);
    const moot = await askCairnJson(at, ["approve", run]);
    expect(moot).toMatchObject({
      error: { code: "NoEffect", why: expect.stringContaining("is being cancelled"), gates: [] },
    });
    await runCairn(at, START);
    const shown = await askCairnJson(at, ["show", run]);
    expect(shown).toMatchObject({ status: "cancelled", ignoredDecision: { gate, call: "c1", as: "approve" } });
    expect((await askCairn(at, ["show", run])).out).toMatch(
      /decision +approve by .* about c1 had no effect: the run is being/,
    );
    expect((await askCairn(at, ["timeline", run])).out).toMatch(
      /✖ approve by .* about pay \(c1\) had no effect: the run is/,
    );
    const late = await askCairn(at, ["approve", run]);
    expect({ exit: late.exit, err: late.err }).toEqual({
      exit: 4,
      err: expect.stringMatching(/why: it is cancelled; approve by .* had no effect/),
    });
  });

  it("refuses a decision about no open gate before any write", async (context) => {
    const { at, run } = await gated(context);
    const version = (await askCairnJson(at, ["show", run]))["version"];
    for (const words of [
      ["approve", run, "c9"],
      ["deny", run, "c1-aaaa"],
    ]) {
      const { exit, err } = await runCairn(at, words);
      expect({ exit, err }).toEqual({
        exit: 4,
        err: expect.stringMatching(/error Stale:[^]*the open gates are: c1 \(pay\)/),
      });
    }
    const { exit, err } = await askCairn(at, ["approve", run, "--args", "{no json"]);
    expect({ exit, err }).toEqual({ exit: 2, err: expect.stringContaining("--args") });
    expect(await askCairnJson(at, ["show", run])).toMatchObject({ version, gates: [{ decided: false }] });
  });
});
