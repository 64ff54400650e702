/** `cairn rollout`: moves the share of new runs, step by step, and takes it back when an alarm goes off. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Rollout, RolloutPort } from "../../src/ports/rollout.ts";
import { UserError } from "../../src/compose/user-error.ts";
import { rollOut } from "../../src/cli/commands/rollout.ts";
import { createShell } from "../support/processes/cli-in-process.ts";

let now: Rollout;
/** Functions of other agents. */
let others: readonly Rollout[];
let shares: string[];
/** What each look at the alarms finds; the last one again and again. */
let alarms: (readonly string[])[];

beforeEach(() => {
  now = { agent: null, beat: "cairn-dev-beat", version: "7", next: null, published: ["6", "7", "8"], revision: "r0" };
  others = [];
  shares = [];
  alarms = [[]];
});

const port: RolloutPort = {
  functions: async () => [now, ...others],
  read: async ({ beat }) => [now, ...others].find((each) => each.beat === beat) ?? now,
  move: async (read, { version, next }) => {
    if (read.revision !== now.revision) return "changedMeanwhile";
    shares.push(next === null ? `all ${version}` : `${next.percent} ${next.version}`);
    now = { ...now, version, next, revision: `r${shares.length}` };
    return "moved";
  },
  alarms: async () => (alarms.length > 1 ? alarms.shift() : alarms[0]) ?? [],
};

const FOLDER = { dir: ".", person: null };

/** Minutes of 60 ms, of which each is looked at three times. */
const MINUTES = 0.001;

async function play(flags: object, version: string | null = null) {
  const { shell, said } = createShell(FOLDER, ["rollout", "--json"]);
  const settings = { command: (...words: readonly string[]) => `npx cairn ${words.join(" ")}` };
  const asked = { version, flags: { everyMinutes: MINUTES, ...flags } };
  const exit = await rollOut({ shell, settings, port, lookMs: 20 }, asked);
  return { exit, said: JSON.parse(said.out) as unknown };
}

const troubleOf = (played: Promise<unknown>): Promise<unknown> =>
  played.then(
    () => null,
    (error: unknown) => (error instanceof UserError ? error.trouble : error),
  );

test("shows which versions new runs start with, and changes nothing", async () => {
  expect(await play({})).toEqual({ exit: 0, said: { shares: { 7: 100 }, newest: "8" } });
  expect(shares).toEqual([]);
});

test("gives the newest version a share, then all", async () => {
  expect(await play({ to: 10 })).toMatchObject({ said: { shares: { 7: 90, 8: 10 } } });
  expect(await play({ to: 100 })).toMatchObject({ said: { shares: { 8: 100 } } });
  expect(shares).toEqual(["10 8", "all 8"]);
});

test("gives the named version its share, also an older one", async () => {
  expect(await play({ to: 100 }, "6")).toMatchObject({ said: { shares: { 6: 100 } } });
});

test.each([{ back: true }, { to: 0 }])("withdraws a share: %j", async (flags) => {
  await play({ to: 50 });
  expect(await play(flags)).toMatchObject({ said: { shares: { 7: 100 } } });
});

describe("a rollout in steps", () => {
  test("ends with all new runs when no alarm is raised", async () => {
    expect(await play({ steps: [10, 50, 100] })).toMatchObject({ said: { shares: { 8: 100 } } });
    expect(shares).toEqual(["10 8", "50 8", "all 8"]);
  });

  test("returns all new runs to the previous version when an alarm is raised", async () => {
    alarms = [[], [], [], [], ["cairn-dev-failed"]];
    expect(await troubleOf(play({ steps: [10, 50, 100] }))).toMatchObject({
      ...{ code: "RolledBack", exit: 1, facts: { alarms: ["cairn-dev-failed"] } },
      what: expect.stringContaining("cairn-dev-failed"),
    });
    expect(shares.at(-1)).toBe("all 7");
    expect(now).toMatchObject({ version: "7", next: null });
  });

  test("does so after the last step, too", async () => {
    alarms = [[], ["cairn-dev-failed"]];
    expect(await troubleOf(play({ steps: [100] }))).toMatchObject({ code: "RolledBack" });
    expect(shares).toEqual(["all 8", "all 7"]);
  });

  test("does not start while an alarm is raised", async () => {
    alarms = [["cairn-dev-dead"]];
    expect(await troubleOf(play({ steps: [10] }))).toMatchObject({ code: "AlarmStands", exit: 4 });
    expect(shares).toEqual([]);
  });
});

test.each([
  ["a version that is not published", { to: 10 }, "9", { code: "VersionUnknown", exit: 4 }],
  ["the version that all new runs have", { to: 10 }, "7", { code: "VersionLive", exit: 4 }],
  ["two contradictory options", { to: 10, back: true }, null, { code: "Usage", exit: 2 }],
])("refuses %s", async (_, flags, version, trouble) => {
  expect(await troubleOf(play(flags, version))).toMatchObject(trouble);
  expect(shares).toEqual([]);
});

describe("rollouts of several agent functions", () => {
  beforeEach(() => {
    now = { ...now, agent: "clerk", beat: "cairn-dev-beat_clerk" };
    others = [{ ...now, agent: "teller", beat: "cairn-dev-beat_teller", version: "3", published: ["3"] }];
  });

  test("shows all of them, or the named one", async () => {
    const clerk = { agent: "clerk", shares: { 7: 100 }, newest: "8" };
    const teller = { agent: "teller", shares: { 3: 100 }, newest: "3" };
    expect(await play({})).toEqual({ exit: 0, said: { agents: [clerk, teller] } });
    expect(await play({ agent: "teller" })).toEqual({ exit: 0, said: teller });
  });

  test("moves only the named one", async () => {
    expect(await play({ agent: "clerk", to: 10 })).toMatchObject({
      said: { agent: "clerk", shares: { 7: 90, 8: 10 } },
    });
    expect(shares).toEqual(["10 8"]);
    expect(await play({ agent: "clerk", back: true })).toMatchObject({ said: { shares: { 7: 100 } } });
  });

  test.each([{ to: 10 }, { back: true }, { steps: [10] }])("moves none without a name: %j", async (flags) => {
    expect(await troubleOf(play(flags))).toMatchObject({
      ...{ code: "AgentNeeded", exit: 2, facts: { agents: ["clerk", "teller"] } },
      next: "npx cairn rollout --agent clerk --to 10",
    });
    expect(shares).toEqual([]);
  });

  test("needs no name when there is one", async () => {
    others = [];
    expect(await play({ to: 10 })).toMatchObject({ said: { agent: "clerk", shares: { 7: 90, 8: 10 } } });
  });

  test("refuses an agent without a function, and lists the agents that have one", async () => {
    expect(await troubleOf(play({ agent: "nurse", to: 10 }))).toMatchObject({
      ...{ code: "AgentUnknown", exit: 4, why: "there are functions of: clerk, teller" },
    });
  });
});

test("refuses an agent's name when all agents share one function", async () => {
  expect(await troubleOf(play({ agent: "clerk", to: 10 }))).toMatchObject({ code: "AgentsShareFunction", exit: 4 });
  expect(shares).toEqual([]);
});

test("changes nothing when another process changed the rollout meanwhile", async () => {
  const late = { ...port, read: async () => ({ ...now, revision: "old" }) };
  const { shell } = createShell(FOLDER, ["rollout"]);
  const settings = { command: () => "npx cairn rollout" };
  const played = rollOut(
    { shell, settings, port: late, lookMs: 20 },
    { version: null, flags: { everyMinutes: 1, to: 5 } },
  );
  expect(await troubleOf(played)).toMatchObject({ code: "RolloutChanged", exit: 4 });
});
