/** The simulation of an account with many runs: `npm run scale` plays 10,000 of them. */
import { expect, test } from "vitest";
import { type AccountOptions, simulateAccount } from "./account.ts";

const SMALL: AccountOptions = { runs: 150, beats: 4, startsPerSecond: 100, seed: "small" };

test("loses no run and takes no step twice where Lambda, the table and Step Functions throttle", async () => {
  const second = (perSecond: number) => ({ size: perSecond, perSecond });
  const quotas = { lambdaConcurrency: 10, tableWrites: second(60), startExecution: second(2) };
  const faults = { deathOneIn: 30, freezeOneIn: 60 };
  const { violations, counts } = await simulateAccount({ ...SMALL, quotas, faults });

  expect(violations).toEqual([]);
  expect(counts).toMatchObject({
    "throttled: Lambda concurrency": expect.any(Number),
    "throttled: table writes": expect.any(Number),
    "throttled: StartExecution": expect.any(Number),
    "starts left to the sweeper": expect.any(Number),
    "deaths of processes": expect.any(Number),
  });
});

test("carries as many beats in a second as the concurrency of Lambda divided by the length of a beat", async () => {
  const { beatsPerSecondAtPeak, violations } = await simulateAccount({ ...SMALL, quotas: { lambdaConcurrency: 30 } });

  // A beat takes 2.8 s for the model, 0.2 s for the tool, and some 0.2 s for cairn.
  expect(violations).toEqual([]);
  // Ten seconds of them, since the average has the random pauses of runs whose call was turned away last.
  expect(beatsPerSecondAtPeak).toBeGreaterThan(0.9 * (30 / 3.2));
  expect(beatsPerSecondAtPeak).toBeLessThan(1.1 * (30 / 3));
});

test("shards spread the status of one tenant over the keys of its index, and a list of runs has all of them", async () => {
  const second = (perSecond: number) => ({ size: perSecond, perSecond });
  // The wall of one key, brought as near as the others are here.
  const quotas = { lambdaConcurrency: 1_000, partitionWrites: second(40), startExecution: second(1_000) };
  const throttled = async (statusShards: number): Promise<number> => {
    const { violations, counts } = await simulateAccount({ ...SMALL, beats: 1, quotas, statusShards });
    expect({ violations, leftToSweeper: counts["starts left to the sweeper"] ?? 0 }).toEqual({
      violations: [],
      leftToSweeper: 0,
    });
    return counts["throttled: index byStatus"] ?? 0;
  };
  const [one, eight] = [await throttled(1), await throttled(8)];
  expect(one).toBeGreaterThan(50);
  expect(eight).toBe(0);
});

test("finds steps that were taken twice when the table evaluates no condition", async () => {
  const { violations } = await simulateAccount({
    ...SMALL,
    faults: { deathOneIn: 20, freezeOneIn: 5 },
    network: (network) => ({
      ...network,
      send: (sent, apply) => {
        if (sent.operation === "UpdateItem")
          delete (sent.input as { ConditionExpression?: string }).ConditionExpression;
        return network.send(sent, apply);
      },
    }),
  });

  expect(violations.join("\n")).toMatch(/took step \d+ 2 times/);
});

test("repeats itself when it gets the same seed", async () => {
  expect(await simulateAccount(SMALL)).toEqual(await simulateAccount(SMALL));
});
