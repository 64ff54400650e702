/** A call that must not happen twice dies in flight: the run waits for a person, and each answer goes its own way. */
import { type TestContext, describe, expect, it } from "vitest";
import {
  type Desk,
  cairn,
  cairnRunning,
  desk,
  documentOf,
  input,
  killHeld,
  mailsIn,
  until,
} from "../../support/cli.ts";

const short = (settleMs: number) => ({
  CAIRN_BEAT_SECONDS: "3",
  CAIRN_LIMITS: JSON.stringify({ settleMs, skewMs: 100 }),
});
const SETTLE_MS = 2_000;
const START = ["start", "clerk", "--input", input("mail"), "--key", "k", "--wait"];

/** Who goes on with an answer has the time of a busy machine: it needs no lease to lapse. */
const GO_ON = [...START, "--beat-seconds", "60"];

/** A run whose mail has left when its process died. */
async function blocked(
  { onTestFinished }: TestContext,
  settleMs = SETTLE_MS,
): Promise<{ readonly at: Desk; readonly run: string; readonly said: string }> {
  const at = desk({ ...short(settleMs), CAIRN_HOLD: "after:effect:mail" }, onTestFinished);
  const waiting = cairnRunning(at, START);
  await killHeld(at);
  const { exit, out } = await waiting.ended;
  expect(exit).toBe(4);
  return { at, run: /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "", said: out };
}

/** Types it again and again, as the answer says, until it is no longer too early. */
async function answer(at: Desk, words: readonly string[]): Promise<void> {
  await until(async () => expect(await documentOf(at, words)).toMatchObject({ accepted: true }));
}

describe.concurrent("a call whose outcome nobody knows", () => {
  it("blocks the run, which says what to type", async (context) => {
    const { at, run, said } = await blocked(context);
    expect(said).toContain("SIGKILL");
    expect(said).toContain("⚡ epoch 2 took over");
    expect(said).toMatch(/\? the outcome of mail \(c1\) is unknown/);
    for (const as of ["succeeded", "failed", "retry"]) {
      expect(said).toContain(`npx cairn reconcile ${run} c1 --as ${as} --store ${at.store}\n`.trim());
    }
    const shown = await documentOf(at, ["show", run]);
    expect(shown).toMatchObject({ status: "blocked", inProgress: true, resumable: true, takeovers: 1 });
    expect(shown["unknown"]).toMatchObject([{ call: "c1", tool: "mail", args: { step: 1 }, answered: false }]);
  });

  it("is taken as succeeded at once, with what it returned", async (context) => {
    const { at, run } = await blocked(context);
    const said = ["reconcile", run, "c1", "--as", "succeeded", "--result", '"sent"', "--note", "seen in the log"];
    expect(await documentOf(at, said)).toMatchObject({ run, call: "c1", as: "succeeded", accepted: true });
    const again = await cairn(at, ["reconcile", run, "c1", "--as", "succeeded"]);
    expect([again.exit, again.err]).toEqual([4, expect.stringContaining("error Duplicate:")]);
    const { exit, out } = await cairn(at, GO_ON);
    expect([exit, out]).toEqual([0, expect.stringContaining("done: succeeded")]);
    expect(out).toContain("seen in the log");
    expect(mailsIn(at)).toBe(1);
    const stale = await cairn(at, ["reconcile", run, "c1", "--as", "retry"]);
    expect([stale.exit, stale.err]).toEqual([4, expect.stringMatching(/error Stale:[^]*says: succeeded/)]);
  });

  it("is not taken as failed before anybody can know that", async (context) => {
    // However long a busy machine takes until the answer is typed, it is too early.
    const { at, run } = await blocked(context, 3_600_000);
    const words = ["reconcile", run.slice(6, 14), "c1", "--as", "failed"];
    const early = await cairn(at, words);
    expect([early.exit, early.err]).toEqual([4, expect.stringContaining("error TooEarly:")]);
    expect(early.err).toContain(`next: npx cairn ${words.join(" ")} --store ${at.store}`);
    expect(mailsIn(at)).toBe(1);
  });

  it("is taken as failed once everybody can know it", async (context) => {
    const { at, run } = await blocked(context);
    await answer(at, ["reconcile", run, "c1", "--as", "failed"]);
    const { exit, out } = await cairn(at, GO_ON);
    expect([exit, out]).toEqual([0, expect.stringContaining("done: failed")]);
    expect(mailsIn(at)).toBe(1);
  });

  it("runs again only when a person says so", async (context) => {
    const { at, run } = await blocked(context);
    await answer(at, ["reconcile", run, "c1", "--as", "retry"]);
    const { exit, out } = await cairn(at, GO_ON);
    expect([exit, out]).toEqual([0, expect.stringContaining("done: succeeded")]);
    expect(mailsIn(at)).toBe(2);
    const { out: ledger } = await cairn(at, ["ledger", run]);
    expect(ledger).toMatch(/c1 +mail +unsafe +succeeded +2 .* letter-1 +mail-c1-/);
  });
});
