/** Travel on a bad day: what was booked is cancelled again, newest first, whoever dies meanwhile; then it is tried anew. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { setBehaviour } from "../../../agents/travel/behaviour.ts";
import { countsOf } from "../../../agents/travel/services.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { waitForCount, waitUntil } from "../../support/gate/safety.ts";
import {
  askCairnJson,
  askCairn,
  LONG_TIMEOUTS,
  runCairn,
  spawnCairn,
  createCliFolder,
  runCairnJson,
  parseJsonLines,
} from "../../support/processes/cli-process.ts";
import { EXAMPLES } from "../../support/processes/program.ts";

const TRAVEL = join(EXAMPLES, "travel", "agent.ts");
const TRIP = '{"from":"Hamburg","to":"Lisbon"}';
const START = ["start", TRAVEL, "--key", "k", "--input", TRIP, "--wait"];
/** A death is over soon, so that a test need not wait for a lease of a minute. */
const SHORT = {
  CAIRN_BEAT_SECONDS: String(LIMITS.shortBeatMs / 1_000),
  CAIRN_LIMITS: JSON.stringify({ settleMs: 500, skewMs: 100 }),
  TRAVEL_PACE: "0",
};

describe.concurrent("travel", () => {
  it("cancels hotel and flight when the card declines, also over a SIGKILL, and books anew", async ({
    onTestFinished,
  }) => {
    const made = createCliFolder(SHORT, onTestFinished);
    const services = join(made.dir, "services");
    const at = { ...made, env: { ...made.env, TRAVEL_SERVICES: services } };
    setBehaviour(services, "card", { kind: "decline" });
    setBehaviour(services, "hotel", { kind: "die", moment: "cancelled" });
    const { exit, out } = await runCairn(at, START);
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining("begins again from its task") });
    const run = /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "";
    // The hotel was asked twice to cancel, under one key, and cancelled once.
    expect(countsOf(services)).toMatchObject({
      airline: { requests: 3, bookings: 2, cancelled: 1 },
      hotel: { requests: 4, bookings: 2, cancelled: 1 },
      card: { requests: 2, bookings: 1 },
      mail: { requests: 1, bookings: 1 },
    });
    const calls = parseJsonLines((await askCairn(at, ["ledger", run, "--json"])).out);
    const told = calls.map(({ call, tool, status }) => `${String(call)} ${String(tool)} ${String(status)}`);
    expect(told.slice(3, 8)).toEqual([
      "c4 bookFlight compensated",
      "c5 bookHotel compensated",
      "c6 chargeCard failed",
      "undo-c5 bookHotel succeeded",
      "undo-c4 bookFlight succeeded",
    ]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(calls.length);
    const shown = await askCairnJson(at, ["show", run]);
    expect(shown).toMatchObject({ status: "completed", attempt: 2, takeovers: 1 });
    expect((await askCairnJson(at, ["verify", run]))["findings"]).toEqual([]);
  });

  it("is cancelled with compensation, and restarted, when an operator asks for that", async ({ onTestFinished }) => {
    const made = createCliFolder({ ...LONG_TIMEOUTS, TRAVEL_PACE: "0" }, onTestFinished);
    const services = join(made.dir, "services");
    const at = { ...made, env: { ...made.env, TRAVEL_SERVICES: services } };
    const queued = await runCairnJson(at, START.slice(0, -1));
    const run = String(queued["run"]);
    const early = await runCairn(at, ["restart", run, "--yes"]);
    expect({ exit: early.exit, err: early.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("error NotStarted:"),
    });
    setBehaviour(services, "card", { kind: "hold" });
    const waiting = spawnCairn(at, START);
    // The card is being charged: what it does is done before the run pauses.
    await waitForCount("a request to the card", 1, () => countsOf(services).card.requests);
    await askCairn(at, ["pause", run]);
    setBehaviour(services, "card", null);
    await waitUntil(async () => expect(await askCairnJson(at, ["show", run])).toMatchObject({ status: "paused" }));
    const asked = await runCairn(at, ["restart", run]);
    expect({ exit: asked.exit, err: asked.err }).toEqual({
      exit: 2,
      err: expect.stringContaining("still count towards its budget"),
    });
    expect(asked.err).toMatch(/to be undone, newest first: chargeCard \(c6\), bookHotel \(c5\), bookFlight \(c4\)/);
    expect(asked.err).toContain("--yes");
    const yes = await runCairnJson(at, ["restart", run, "--yes"]);
    expect(yes).toMatchObject({
      run,
      want: "restart",
      undoable: ["bookFlight (c4)", "bookHotel (c5)", "chargeCard (c6)"],
    });
    // Whoever waited for the run was told that it is paused, and is gone.
    expect((await waiting.ended).exit).toBe(4);
    const { exit } = await runCairn(at, START);
    expect(exit).toBe(0);
    expect(countsOf(services)).toMatchObject({
      airline: { bookings: 2, cancelled: 1 },
      hotel: { bookings: 2, cancelled: 1 },
      card: { bookings: 2, cancelled: 1 },
      mail: { bookings: 1 },
    });
    const late = await askCairn(at, ["cancel", run, "--compensate"]);
    expect({ exit: late.exit, err: late.err }).toEqual({ exit: 4, err: expect.stringContaining("error Late:") });
    // Nobody is asked to confirm what cannot be had.
    const over = await runCairn(at, ["restart", run]);
    expect({ exit: over.exit, err: over.err }).toEqual({
      exit: 4,
      err: expect.stringContaining("cannot be restarted any more"),
    });
    expect(await askCairnJson(at, ["show", run])).toMatchObject({ status: "completed", attempt: 2 });
  });
});
