/**
 * Gates at the command line, beyond `cli-approve.test.ts`; `npm run verify` plays it. Which test shows which refusal of a
 * decision, through the public surface:
 *
 *   stale: a call that waits for nothing, another hash   cli-approve "refuses what names no open gate before any write"
 *   double                                               cli-approve "is listed with what it would do"
 *   late: the run has ended                              cli-approve "does not run when it is denied"
 *   expired, alone and after a decision                  here; `unit/runner-decisions` to the millisecond
 *   denied, changed                                      cli-approve; on AWS `localstack/waiting`
 *   several at once                                      here; in any order `unit/runner-gates`
 *   too little of a budget, an amount that is none       cli-budget
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, describe, expect, it } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { childrenOf, supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import {
  askCairnJson,
  askCairn,
  LONG_TIMEOUTS,
  type CliFolder,
  runCairn,
  spawnCairn,
  createCliFolder,
  stepsInput,
  parseJsonLines,
  startQueuedRun,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

const START = ["start", "clerk", "--input", stepsInput("pay"), "--key", "k", "--wait"];

/** What the store says of its one run, and of who works on it. */
function processesOf({ store: dir }: CliFolder) {
  const store = openStore({ dir, create: false });
  try {
    const [execution] = store.rows.prepare("SELECT state, stage, attempt, readyAt FROM executions").all();
    return { execution, children: childrenOf(store).all(), supervisor: supervisorOf(store) };
  } finally {
    store.close();
  }
}

const noProcesses = { children: [], supervisor: null };

describe.concurrent("a run that waits for approval", () => {
  it("has had one beat and one park, and no process waits; the decision itself makes it ready", async (context) => {
    const at = createCliFolder(LONG_TIMEOUTS, context.onTestFinished);
    const before = Date.now();
    const working = spawnCairn(at, ["work"]);
    const { exit, out } = await runCairn(at, START);
    expect(exit).toBe(4);
    const run = /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "";
    const waiting = { state: "Park", stage: "waiting", attempt: 2 };
    // The command ends as soon as a person is needed, which is before the execution parks.
    await waitUntil(() => expect(processesOf(at).execution).toMatchObject(waiting));
    working.child.kill("SIGTERM");
    await working.ended;
    expect(processesOf(at)).toMatchObject({ ...noProcesses, execution: waiting });
    // Nothing would move it before its time is over, a day later.
    expect(Number(processesOf(at).execution?.["readyAt"])).toBeGreaterThanOrEqual(before + 24 * 3_600_000);
    expect((await askCairn(at, ["approve", run])).exit).toBe(0);
    const woken = processesOf(at);
    expect(woken).toMatchObject({ ...noProcesses, execution: { attempt: 2 } });
    expect(Number(woken.execution?.["readyAt"])).toBeLessThanOrEqual(Date.now());
  });

  it("continues under a running supervisor as soon as it is approved in another terminal", async (context) => {
    const at = createCliFolder(LONG_TIMEOUTS, context.onTestFinished);
    const run = await startQueuedRun(at, "pay");
    spawnCairn(at, ["work"]);
    await waitUntil(() => expect(processesOf(at).execution).toMatchObject({ state: "Park", stage: "waiting" }));
    expect((await askCairn(at, ["approve", run, "--note", "from here"])).exit).toBe(0);
    await waitUntil(() => expect(processesOf(at).execution).toMatchObject({ stage: "ended" }));
    // Beat and park, then one attempt for the call and the end: no attempt was in vain in between.
    expect(processesOf(at).execution).toMatchObject({ attempt: 3 });
    const kinds = parseJsonLines((await askCairn(at, ["timeline", run, "--json"])).out).map(({ kind }) => kind);
    const story = ["ApprovalRequested", "MessageAbsorbed", "HumanApprovalReceived", "ToolInvoked", "RunEnded"];
    expect(kinds.filter((kind) => story.includes(String(kind)))).toEqual(expect.arrayContaining(story));
    expect(kinds.indexOf("HumanApprovalReceived")).toBeLessThan(kinds.indexOf("ToolInvoked"));
  });

  it("is denied when its gate expires, and a later decision gets the denial", async (context) => {
    const at = createCliFolder(
      { CAIRN_BEAT_SECONDS: LONG_TIMEOUTS.CAIRN_BEAT_SECONDS, CAIRN_LIMITS: JSON.stringify({ gateMs: 1 }) },
      context.onTestFinished,
    );
    const run = await startQueuedRun(at, "pay");
    spawnCairn(at, ["work"]);
    await waitUntil(() => expect(processesOf(at).execution).toMatchObject({ stage: "ended" }));
    const told = (await askCairn(at, ["timeline", run])).out;
    expect(told).toMatch(/pay \(c1\) is denied by expiry: no decision before the gate expired/);
    expect(told).toContain("done: failed");
    const late = await askCairn(at, ["approve", run]);
    expect({ exit: late.exit, err: late.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("waits for no approval"),
    });
  });

  it("at two gates at once asks which one is meant, and each call runs as decided", async (context) => {
    const { at, run } = await atTwoGates(context);
    const open = parseJsonLines((await askCairn(at, ["approvals", "--json"])).out);
    expect(open).toMatchObject([{ call: "c1" }, { call: "c2" }]);
    expect(new Set(open.map(({ argsHash }) => argsHash)).size).toBe(2);
    const unnamed = await askCairn(at, ["approve", run]);
    expect({ isRefused: unnamed.exit !== 0, err: unnamed.err }).toEqual({
      isRefused: true,
      err: expect.stringMatching(/c1[^]*c2/),
    });
    expect(await askCairnJson(at, ["deny", run, "c2", "--note", "once is enough"])).toMatchObject({ call: "c2" });
    expect(await askCairnJson(at, ["approve", run, "c1"])).toMatchObject({ call: "c1", as: "approve" });
    const { exit, out } = await runCairn(at, START);
    expect({ exit, out }).toEqual({
      exit: 0,
      out: expect.stringMatching(/done: (succeeded, failed|failed, succeeded)/),
    });
    expect(parseJsonLines((await askCairn(at, ["ledger", run, "--json"])).out)).toMatchObject([
      { call: "c1", status: "succeeded" },
      { call: "c2", status: "failed" },
    ]);
  });
});

/** Its model asks to pay twice in one reply. */
async function atTwoGates({ onTestFinished }: TestContext): Promise<{ readonly at: CliFolder; readonly run: string }> {
  const at = createCliFolder(LONG_TIMEOUTS, onTestFinished);
  const file = join(at.dir, "clerk.ts");
  const one = "{ tool: step, args: { step: calls.length + 1 } }";
  const two = `${one}, { tool: step, args: { step: 7 } }`;
  writeFileSync(file, readFileSync(file, "utf8").replace(one, two));
  const { exit, out } = await runCairn(at, START);
  expect(exit).toBe(4);
  return { at, run: /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "" };
}
