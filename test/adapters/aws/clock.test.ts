/** The clock of a machine, corrected by the dates of AWS's responses. */
import { describe, expect, test } from "vitest";
import { awsClients } from "../../../src/adapters/aws/clients.ts";
import { clockBesideAws } from "../../../src/adapters/aws/clock.ts";
import { AT } from "../../support/states/states-and-events.ts";

const DAY_MS = 24 * 3_600_000;

type Middleware = (
  next: (call: object) => Promise<{ readonly response: unknown }>,
) => (call: object) => Promise<{ readonly response: unknown }>;

/** A client whose responses carry the true time, and a machine whose clocks the test moves. */
function machine(aheadMs: number) {
  const at = { true: AT, aheadMs, frozenMs: 0 };
  const added: Middleware[] = [];
  const client = { middlewareStack: { add: (middleware: Middleware) => void added.push(middleware) } };
  const clock = clockBesideAws([client], {
    wall: () => at.true + at.aheadMs,
    count: () => at.true - AT - at.frozenMs,
  });
  const answer = async (date = new Date(at.true).toUTCString()): Promise<void> => {
    for (const middleware of added) await middleware(async () => ({ response: { headers: { date } } }))({});
  };
  return { at, clock, answer };
}

const seen = ({ at, clock }: ReturnType<typeof machine>) => ({
  now: clock.now() - at.true,
  earliest: clock.earliest() - at.true,
});

describe("the clock of a machine", () => {
  test("is used before the first response of AWS, and when both agree", async () => {
    const harness = machine(3_000);
    expect(seen(harness)).toEqual({ now: 3_000, earliest: 3_000 });
    await harness.answer();
    expect(seen(harness)).toEqual({ now: 3_000, earliest: 3_000 });
    await harness.answer("no date");
    expect(seen(harness)).toEqual({ now: 3_000, earliest: 3_000 });
  });

  test("is replaced by AWS's time when it is 40 days ahead", async () => {
    const harness = machine(40 * DAY_MS);
    await harness.answer();
    expect(seen(harness)).toEqual({ now: 0, earliest: 0 });
    harness.at.true += 60_000;
    expect(seen(harness)).toEqual({ now: 0, earliest: 0 });
  });

  test("is replaced by AWS's time when it is two days behind, and no expiry comes early", async () => {
    const harness = machine(-2 * DAY_MS);
    await harness.answer();
    expect(seen(harness)).toEqual({ now: 0, earliest: -2 * DAY_MS });
  });

  test("is not trusted for expiry when it is set between two responses", async () => {
    const harness = machine(0);
    await harness.answer();
    harness.at.aheadMs = 40 * DAY_MS;
    expect(seen(harness)).toEqual({ now: 40 * DAY_MS, earliest: 0 });
    harness.at.aheadMs = -2 * DAY_MS;
    expect(seen(harness)).toEqual({ now: 0, earliest: -2 * DAY_MS });
    harness.at.aheadMs = 0;
    expect(seen(harness)).toEqual({ now: 0, earliest: 0 });
  });

  test("is right after a freeze of a day, and certain after the next response", async () => {
    const harness = machine(0);
    await harness.answer();
    harness.at.true += DAY_MS;
    harness.at.frozenMs = DAY_MS;
    expect(seen(harness)).toEqual({ now: 0, earliest: -DAY_MS });
    await harness.answer();
    expect(seen(harness)).toEqual({ now: 0, earliest: 0 });
  });
});

test("is shared by several worlds with one client", () => {
  const clients = awsClients({ endpoint: "http://127.0.0.1:1" });
  const { repeating } = clients.table;
  for (let worlds = 0; worlds < 2; worlds += 1) {
    expect(() => clockBesideAws([repeating, repeating])).not.toThrow();
  }
});
