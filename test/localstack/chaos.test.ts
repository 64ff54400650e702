/**
 * Like `cairn chaos`, but it kills the processes of the functions: trips are booked while a SIGKILL hits one of
 * them again and again, whatever it does then. Every trip is booked once and has the same result as without kills.
 */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { travel } from "../../agents/travel/agent.ts";
import { bookingsIn } from "../../agents/travel/services.ts";
import { seededRandom } from "../../src/adapters/memory/clock.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { hasEnded } from "../../src/protocol/row.ts";
import { LIMITS } from "../support/gate/limits.ts";
import { ended, laneOf, rowOf, started, until } from "./lane.ts";
import { seedFor } from "../support/gate/draws.ts";

const lane = laneOf("lane");
const TRIPS = 6;
const KILLS_MAX = 12;
/** One process dies for so many claims of the runs together. */
const CLAIMS_PER_KILL = 2;
const SOLD = ["airline", "hotel", "card", "mail"] as const;

const trip = (traveller: string) => ({ from: "Hamburg", to: "Lisbon", date: "2027-03-14", nights: 3, traveller });
const start = (traveller: string) => started(lane, { agent: travel as Agent, input: trip(traveller) });

/** The processes that run beats for the test deployment. */
const beatProcesses = (): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environOf(pid).includes(`AWS_LAMBDA_FUNCTION_NAME=${lane.stack.table}-beat`))
    .map(Number);

/** Empty if the process is gone or belongs to another user. */
function environOf(pid: string): readonly string[] {
  try {
    return readFileSync(join("/proc", pid, "environ"), "utf8").split("\0");
  } catch {
    return [];
  }
}

/** Kills one of them, if there is any, and says whether there was. */
function killOne(draw: () => number): boolean {
  const pids = beatProcesses();
  const pid = pids[draw() % Math.max(1, pids.length)];
  if (pid === undefined) return false;
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

test("trips survive random kills of their functions' processes, and each is booked once", async () => {
  const calm = await ended(lane, (await start("An undisturbed traveller")).run);
  const travellers = Array.from({ length: TRIPS }, (_, index) => `Victim ${index}`);
  const rows = await Promise.all(travellers.map(start));
  const random = seededRandom(seedFor("chaos"));
  const draw = (): number => Number.parseInt(random.hex().slice(0, 8), 16);
  let [kills, claimsAtKill] = [0, 0];
  await until(async () => {
    const now = await Promise.all(rows.map(({ run }) => rowOf(lane, run)));
    const claims = now.reduce((sum, { epoch }) => sum + epoch, 0);
    if (kills < KILLS_MAX && claims >= claimsAtKill + CLAIMS_PER_KILL && killOne(draw)) {
      kills += 1;
      claimsAtKill = claims;
    }
    expect(now.filter((row) => !hasEnded(row))).toEqual([]);
  }, LIMITS.sceneMs);
  const runs = await Promise.all(rows.map(({ run }) => ended(lane, run)));
  expect(runs.map(({ status }) => status)).toEqual(travellers.map(() => "completed"));
  const cost = ({ result }: (typeof runs)[number]) => (result as { readonly totalUsd: number }).totalUsd;
  expect(runs.map(cost)).toEqual(travellers.map(() => cost(calm)));
  const takeovers = await Promise.all(rows.map(async ({ run }) => (await rowOf(lane, run)).takeovers));
  expect(kills).toBeGreaterThan(2);
  expect(Math.max(...takeovers)).toBeGreaterThan(0);
  for (const service of SOLD) {
    const booked = bookingsIn(inject("stacks").services, service).map(({ traveller }) => traveller);
    for (const traveller of travellers) {
      expect([service, traveller, booked.filter((each) => each === traveller).length]).toEqual([service, traveller, 1]);
    }
  }
});
