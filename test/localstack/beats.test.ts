/** Beats on a real state machine and in real processes: completed, killed, timed out, and duplicated. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { StartExecutionCommand } from "@aws-sdk/client-sfn";
import { describe, expect, inject, test } from "vitest";
import { setBehaviour } from "../../agents/travel/behaviour.ts";
import { countsOf } from "../../agents/travel/services.ts";
import { environmentOf } from "../../localstack/environment.ts";
import { firstInput } from "../../src/adapters/aws/machine/machine-input.ts";
import { clerk } from "./fixtures/clerk.ts";
import {
  callsOf,
  ended,
  failuresIn,
  historyOf,
  keysOf,
  laneOf,
  nameOf,
  rowOf,
  started,
  statesOf,
  statusOf,
  until,
} from "./lane.ts";

const lane = laneOf("lane");
const TRIP = { from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller: "Ada" };
const MAIN = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/** The real command line. */
async function cairn(...words: readonly string[]) {
  const { url } = inject("stacks");
  const env = { ...process.env, ...environmentOf({ url, deployment: lane.stack }), CAIRN_WORLD: "aws", NO_COLOR: "1" };
  const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { out, err, exit: await exit };
}

const bookings = () => {
  const { airline, hotel, card, mail } = countsOf(inject("stacks").services);
  return { airline, hotel, card, mail };
};

describe("a trip", () => {
  test("is booked from start to end", async () => {
    const before = bookings();
    const { out, err, exit } = await cairn("start", "travel", "--input", JSON.stringify(TRIP), "--wait", "--json");
    expect(err).toContain("beat 8");
    expect(exit).toBe(0);
    const { run, ...rest } = JSON.parse(out) as { readonly run: string };
    expect(rest).toMatchObject({ status: "completed", beats: 8, epoch: 8, takeovers: 0, spent: { usd: 0.17 } });
    for (const service of ["airline", "hotel", "card", "mail"] as const) {
      const { requests, bookings: all } = before[service];
      expect({ service, bookings: bookings()[service] }).toEqual({
        service,
        bookings: { requests: requests + 1, bookings: all + 1 },
      });
    }
    const execution = nameOf(await rowOf(lane, run), 1);
    await until(async () => expect(await statusOf(lane, execution)).toBe("SUCCEEDED"));
    const beats = Array.from({ length: 8 }, () => "Beat");
    expect(await statesOf(lane, execution)).toEqual([...beats, "End"]);
    expect(JSON.parse((await cairn("list", "--tenant", "local", "--json")).out.split("\n")[0] ?? "")).toMatchObject({
      run,
    });
  });

  test("is booked once when its process is killed with SIGKILL in the middle of booking", async () => {
    const before = bookings();
    setBehaviour(inject("stacks").services, "airline", { kind: "die", moment: "after" });
    const { out } = await cairn("start", "travel", "--input", JSON.stringify(TRIP), "--wait", "--json");
    const { run, ...rest } = JSON.parse(out) as { readonly run: string };
    expect(rest).toMatchObject({ status: "completed", takeovers: 1, spent: { usd: 0.17 } });
    expect(bookings()).toEqual({
      airline: { requests: before.airline.requests + 2, bookings: before.airline.bookings + 1 },
      hotel: { requests: before.hotel.requests + 1, bookings: before.hotel.bookings + 1 },
      card: { requests: before.card.requests + 1, bookings: before.card.bookings + 1 },
      mail: { requests: before.mail.requests + 1, bookings: before.mail.bookings + 1 },
    });
    const execution = nameOf(await rowOf(lane, run), 1);
    expect(await failuresIn(lane, execution)).toEqual(["Runtime.ExitError"]);
    const events = await historyOf(lane, execution);
    const failed = events.find(({ taskFailedEventDetails }) => taskFailedEventDetails?.error === "Runtime.ExitError");
    // The next attempt of the entry continued. No state waited for a lease.
    const later = events.filter(({ id }) => (id ?? 0) > (failed?.id ?? 0));
    const entered = later.flatMap(({ stateEnteredEventDetails }) => stateEnteredEventDetails?.name ?? []);
    expect(entered.slice(0, 3)).toEqual(["Died", "Again", expect.stringMatching(/^(Cap|Pause)$/)]);
    expect(entered.filter((state) => state === "Wait" || state === "Hold")).toEqual([]);
  });

  test("whose card is declined is cancelled newest first despite a SIGKILL in between, and booked again", async () => {
    const before = bookings();
    const { services } = inject("stacks");
    setBehaviour(services, "card", { kind: "decline" });
    setBehaviour(services, "hotel", { kind: "die", moment: "cancelled" });
    const { out } = await cairn("start", "travel", "--input", JSON.stringify(TRIP), "--wait", "--json");
    const { run, ...rest } = JSON.parse(out) as { readonly run: string };
    expect(rest).toMatchObject({ status: "completed", attempt: 2, takeovers: 1 });
    expect(bookings()).toEqual({
      airline: { requests: before.airline.requests + 3, bookings: before.airline.bookings + 2, cancelled: 1 },
      hotel: { requests: before.hotel.requests + 4, bookings: before.hotel.bookings + 2, cancelled: 1 },
      card: { requests: before.card.requests + 2, bookings: before.card.bookings + 1 },
      mail: { requests: before.mail.requests + 1, bookings: before.mail.bookings + 1 },
    });
    const calls = (await cairn("ledger", run, "--json")).out.trim().split("\n");
    const told = calls.map((line) => JSON.parse(line) as { readonly call: string; readonly status: string });
    expect(told.filter(({ call }) => call.startsWith("undo-")).map(({ call }) => call)).toEqual(["undo-c5", "undo-c4"]);
    expect(told.filter(({ status }) => status === "compensated").map(({ call }) => call)).toEqual(["c4", "c5"]);
    expect(JSON.parse((await cairn("verify", run, "--json")).out)).toMatchObject({ findings: [] });
  });
});

describe.concurrent("a beat", () => {
  const oneStep = (step: "order" | "spin" | "hang", wrong: number) => ({ steps: [{ do: step, wrong }] });

  test("whose process is killed five times in a row is handed over to a successor, which continues", async () => {
    const row = await started(lane, { agent: clerk, input: oneStep("order", 5) });
    await ended(lane, row.run);
    expect(await rowOf(lane, row.run)).toMatchObject({ phase: "Completed", chain: 2, takeovers: 5 });
    expect((await keysOf(lane, row.run)).map(callsOf)).toEqual([6]);
    const first = await statesOf(lane, nameOf(row, 1));
    const tries = Array.from({ length: 5 }, () => ["Beat", "Died", "Again"]).flat();
    const states = first.filter((name) => name !== "Cap" && name !== "Pause");
    expect(states.slice(0, tries.length + 2)).toEqual([...tries, "Backoff", "Rescue"]);
    // In between, the run is held until the lease of the last attempt expires.
    expect(states.slice(-2)).toEqual(["Rescued", "End"]);
    expect(await statusOf(lane, nameOf(row, 1))).toBe("SUCCEEDED");
    await until(async () => expect(await statusOf(lane, nameOf(row, 2))).toBe("SUCCEEDED"));
  });

  test("that Lambda ends at its time limit is taken over by the next attempt", async () => {
    const row = await started(lane, { agent: clerk, input: oneStep("spin", 1) });
    await ended(lane, row.run);
    expect(await rowOf(lane, row.run)).toMatchObject({ phase: "Completed", chain: 1, takeovers: 1 });
    expect(await failuresIn(lane, nameOf(row, 1))).toEqual(["Sandbox.Timedout"]);
  });

  test("whose tool exceeds its timeout commits, ends its process, and counts no death", async () => {
    const row = await started(lane, { agent: clerk, input: oneStep("hang", 1) });
    await ended(lane, row.run);
    expect(await rowOf(lane, row.run)).toMatchObject({ phase: "Completed", chain: 1, takeovers: 0 });
    expect(await failuresIn(lane, nameOf(row, 1))).toEqual(["Runtime.ExitError"]);
  });

  test("that a second execution requests too is done once, and the second execution is superseded", async () => {
    const row = await started(lane, {
      agent: clerk,
      input: {
        steps: [
          { do: "order", wrong: 0 },
          { do: "order", wrong: 0 },
        ],
      },
    });
    const { run, born } = row;
    const duplicate = `${nameOf(row, 1)}-twin`;
    const input = JSON.stringify(firstInput({ run, born, chain: 1, epoch: 0, agent: row.agent }));
    await lane.clients.machine.send(
      new StartExecutionCommand({ stateMachineArn: lane.stack.machine, name: duplicate, input }),
    );
    await ended(lane, run);
    expect((await keysOf(lane, run)).map(callsOf)).toEqual([1, 1]);
    expect(await rowOf(lane, run)).toMatchObject({ phase: "Completed", takeovers: 0, epoch: 3 });
    await until(async () => expect(await statusOf(lane, duplicate)).toBe("SUCCEEDED"));
    const beats = await Promise.all(
      [nameOf(row, 1), duplicate].map(async (name) => {
        await until(async () => expect(await statusOf(lane, name)).toBe("SUCCEEDED"));
        return (await statesOf(lane, name)).filter((state) => state === "Beat").length;
      }),
    );
    expect(beats.toSorted((one, other) => one - other)).toEqual([1, 3]);
  });
});
