/** A call that must not happen twice dies in flight: the run waits for a person, and each answer goes its own way. */
import { type TestContext, describe, expect, it } from "vitest";
import { LIMITS } from "../../support/gate/limits.ts";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  stepsInput,
  killPausedProcess,
  countMails,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

const short = (settleMs: number) => ({
  CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000),
  CAIRN_LIMITS: JSON.stringify({ settleMs, skewMs: 100 }),
});
const SETTLE_MS = 2_000;
const START = ["start", "clerk", "--input", stepsInput("mail"), "--key", "k", "--wait"];

/** Who goes on with an answer has the time of a busy machine: it needs no lease to lapse. */
const CONTINUE = [...START, "--beat-seconds", String(LIMITS.longBeatMs / 1_000)];

/** A run whose mail has left when its process died. */
async function blocked(
  { onTestFinished }: TestContext,
  settleMs = SETTLE_MS,
): Promise<{ readonly at: CliFolder; readonly run: string; readonly said: string }> {
  const at = createCliFolder({ ...short(settleMs), CAIRN_HOLD: "after:effect:mail" }, onTestFinished);
  const waiting = spawnCairn(at, START);
  await killPausedProcess(at);
  const { exit, out } = await waiting.ended;
  expect(exit).toBe(4);
  return { at, run: /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "", said: out };
}

/** Types it again and again, as the answer says, until it is no longer too early. */
async function answer(at: CliFolder, words: readonly string[]): Promise<void> {
  await waitUntil(async () => expect(await runCairnJson(at, words)).toMatchObject({ accepted: true }));
}

describe.concurrent("a call with an unknown outcome", () => {
  it("blocks the run, which says what to type", async (context) => {
    const { at, run, said } = await blocked(context);
    expect(said).toContain("SIGKILL");
    expect(said).toContain("⚡ epoch 2 took over");
    expect(said).toMatch(/\? the outcome of mail \(c1\) is unknown/);
    for (const as of ["succeeded", "failed", "retry"]) {
      expect(said).toContain(`npx cairn reconcile ${run} c1 --as ${as} --store ${at.store}\n`.trim());
    }
    const shown = await askCairnJson(at, ["show", run]);
    expect(shown).toMatchObject({ status: "blocked", inProgress: true, resumable: true, takeovers: 1 });
    expect(shown["unknown"]).toMatchObject([{ call: "c1", tool: "mail", args: { step: 1 }, answered: false }]);
  });

  it("succeeds at once when the operator says so, with the given result", async (context) => {
    const { at, run } = await blocked(context);
    const said = ["reconcile", run, "c1", "--as", "succeeded", "--result", '"sent"', "--note", "seen in the log"];
    expect(await runCairnJson(at, said)).toMatchObject({ run, call: "c1", as: "succeeded", accepted: true });
    const again = await askCairn(at, ["reconcile", run, "c1", "--as", "succeeded"]);
    expect({ exit: again.exit, err: again.err }).toEqual({ exit: 4, err: expect.stringContaining("error Duplicate:") });
    const { exit, out } = await runCairn(at, CONTINUE);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("done: succeeded") });
    expect(out).toContain("seen in the log");
    expect(countMails(at)).toBe(1);
    const stale = await askCairn(at, ["reconcile", run, "c1", "--as", "retry"]);
    expect({ exit: stale.exit, err: stale.err }).toEqual({
      exit: 4,
      err: expect.stringMatching(/error Stale:[^]*says: succeeded/),
    });
  });

  it("does not fail before the outcome can be known", async (context) => {
    // However long a busy machine takes until the answer is typed, it is too early.
    const { at, run } = await blocked(context, 3_600_000);
    const words = ["reconcile", run.slice(6, 14), "c1", "--as", "failed"];
    const early = await runCairn(at, words);
    expect({ exit: early.exit, err: early.err }).toEqual({ exit: 4, err: expect.stringContaining("error TooEarly:") });
    expect(early.err).toContain(`next: npx cairn show ${run} --store ${at.store}`);
    expect(countMails(at)).toBe(1);
  });

  it("fails when the operator says so and the outcome can be known", async (context) => {
    const { at, run } = await blocked(context);
    await answer(at, ["reconcile", run, "c1", "--as", "failed"]);
    const { exit, out } = await runCairn(at, CONTINUE);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("done: failed") });
    expect(countMails(at)).toBe(1);
  });

  it("runs again only when an operator says so", async (context) => {
    const { at, run } = await blocked(context);
    await answer(at, ["reconcile", run, "c1", "--as", "retry"]);
    const { exit, out } = await runCairn(at, CONTINUE);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("done: succeeded") });
    expect(countMails(at)).toBe(2);
    const { out: ledger } = await askCairn(at, ["ledger", run]);
    expect(ledger).toMatch(/c1 +mail +unsafe +succeeded +2 .* letter-1 +mail-c1-/);
  });
});
