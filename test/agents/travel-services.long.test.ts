/** The services of the travel example: one booking per key, whoever asks, and the ways in which they misbehave. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setBehaviour } from "../../agents/travel/behaviour.ts";
import { book, countsOf } from "../../agents/travel/services.ts";
import { OutcomeUnknown } from "../../src/index.ts";

const SEAT = {
  flight: "Curlew 7",
  route: "Berlin to Lisbon",
  date: "2027-05-14",
  hours: 3,
  priceUsd: 99,
  traveller: "Ada",
};

let dir = "";

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "travel-"));
  vi.stubEnv("TRAVEL_SERVICES", dir);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

describe("a service of the travel example", () => {
  it("books once per key when several processes ask at the same time", async () => {
    const keys = ["k1", "k2", "k3", "k4"];
    const [first, ...others] = await Promise.all([bookElsewhere(keys), bookElsewhere(keys), bookElsewhere(keys)]);
    expect(first).toMatch(/^(k\d .*"reference".*\n){4}$/);
    expect(others).toEqual([first, first]);
    expect(countsOf(dir).airline).toEqual({ requests: 12, bookings: 4 });
  });

  it("books again under another key", async () => {
    await bookSeat("one");
    await bookSeat("two");
    expect(countsOf(dir).airline).toEqual({ requests: 2, bookings: 2 });
  });

  it("keeps the first booking under a key", async () => {
    const first = await bookSeat("one");
    expect(first).toMatchObject(SEAT);
    expect(await bookSeat("one", { order: { ...SEAT, traveller: "Grace" } })).toEqual(first);
  });

  it("fails before the effect as often as it is configured to", async () => {
    setBehaviour(dir, "airline", { kind: "fail", times: 2 });
    await expect(bookSeat("one")).rejects.toThrow("out of order");
    await expect(bookSeat("one")).rejects.not.toBeInstanceOf(OutcomeUnknown);
    expect(countsOf(dir).airline).toEqual({ requests: 2, bookings: 0 });
    await bookSeat("one");
    expect(countsOf(dir).airline).toEqual({ requests: 3, bookings: 1 });
  });

  it("succeeds again when it is configured to", async () => {
    setBehaviour(dir, "airline", { kind: "decline", times: 9 });
    setBehaviour(dir, "airline", null);
    expect(await bookSeat("one")).toMatchObject(SEAT);
    expect(countsOf(dir).airline).toEqual({ requests: 1, bookings: 1 });
  });

  it("loses its response after the effect and reports that the outcome is unknown", async () => {
    setBehaviour(dir, "airline", { kind: "fail", moment: "after" });
    await expect(bookSeat("one")).rejects.toBeInstanceOf(OutcomeUnknown);
    expect(countsOf(dir).airline).toEqual({ requests: 1, bookings: 1 });
  });

  it.each(["slow", "hang"] as const)("stops at once when it is %s and its signal aborts", async (kind) => {
    const soon = () => ({ signal: AbortSignal.timeout(5) });
    setBehaviour(dir, "airline", { kind, delayMs: 3_600_000 });
    await expect(bookSeat("one", soon())).rejects.toThrow("aborted");
    expect(countsOf(dir).airline.bookings).toBe(0);
    setBehaviour(dir, "airline", { kind, delayMs: 3_600_000, moment: "after" });
    await expect(bookSeat("one", soon())).rejects.toBeInstanceOf(OutcomeUnknown);
    expect(countsOf(dir).airline.bookings).toBe(1);
  });

  it("does nothing when its caller has exited", async () => {
    await expect(bookSeat("one", { signal: AbortSignal.abort() })).rejects.toThrow("aborted");
    expect(countsOf(dir).airline.bookings).toBe(0);
  });

  it.each([
    { moment: "before", bookings: 0 },
    { moment: "after", bookings: 1 },
  ] as const)("kills its caller $moment the effect, once", async ({ moment, bookings }) => {
    setBehaviour(dir, "airline", { kind: "die", moment });
    await expect(bookElsewhere(["one"])).rejects.toMatchObject({ signal: "SIGKILL" });
    expect(countsOf(dir).airline).toEqual({ requests: 1, bookings });
    await bookElsewhere(["one"]);
    expect(countsOf(dir).airline).toEqual({ requests: 2, bookings: 1 });
  });
});

const bookSeat = (key: string, { order = SEAT, signal = new AbortController().signal } = {}) =>
  book("airline", { order, key, signal });

/** Books the seat under each key in a process of its own; returns what that process was answered. */
async function bookElsewhere(keys: readonly string[]): Promise<string> {
  const services = new URL("../../agents/travel/services.ts", import.meta.url).href;
  const script = `
    import { book } from ${JSON.stringify(services)};
    const { signal } = new AbortController();
    for (const key of ${JSON.stringify(keys)}) {
      console.log(key, JSON.stringify(await book("airline", { order: ${JSON.stringify(SEAT)}, key, signal })));
    }`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  return stdout;
}
