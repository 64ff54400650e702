/** What the console makes of the answers of the API, without a browser. */
import { describe, expect, test } from "vitest";
import type { Summary } from "../../src/operations/views.ts";
import { BULK_ACTIONS, sendEach, whyNot } from "../../src/console/model/bulk.ts";
import { cliOf, curlOf, pathOf, requestOf } from "../../src/console/model/commands.ts";
import { NO_FILTERS, filtersFrom, matches, mayMatch, queryOf } from "../../src/console/model/filters.ts";
import { findAmong } from "../../src/console/model/find.ts";
import { groupCounts, groupOf, phaseWords } from "../../src/console/model/groups.ts";

const run = (name: string, of: Partial<Summary> = {}): Summary => ({
  ...{
    run: name,
    agent: "clerk",
    agentVersion: "1",
    status: "running",
    phase: "AwaitingLLM",
    inProgress: true,
    resumable: false,
  },
  ...{ version: 3, epoch: 1, beats: 2, takeovers: 0, createdAt: 1_000, statusSince: 1_000, lastCheckpointAt: 2_000 },
  ...{ wakeAt: null, parent: null, storeOutage: null, spent: { usd: 0.1, tokensIn: 10, tokensOut: 5 } },
  ...{
    budget: [],
    signals: [],
    restored: null,
    isScheduled: false,
    title: null,
    startKey: null,
    labels: {},
    askingSince: null,
    slowFrom: null,
    ready: false,
  },
  ...of,
});

describe("groups", () => {
  test("a run that waits for a human is counted with those, whatever its status is called", () => {
    const runs = [
      run("a", { status: "waiting", phase: "AwaitingApproval" }),
      run("b", { status: "blocked", phase: "AwaitingReconcile" }),
      run("c", { status: "blocked", phase: "AwaitingAgent" }),
      run("d", { status: "waiting", phase: "AwaitingChildren" }),
      run("e", { status: "paused", phase: "Paused" }),
      run("f", { status: "queued", phase: "Preparing" }),
      run("g"),
      run("h", { status: "failed", phase: "Failed", inProgress: false }),
    ];
    expect(runs.map(groupOf)).toEqual([
      "needs",
      "needs",
      "needs",
      "waiting",
      "waiting",
      "waiting",
      "running",
      "failed",
    ]);
    expect(groupCounts(runs)).toEqual({ needs: 3, running: 1, waiting: 3, failed: 1, completed: 0, cancelled: 0 });
  });

  test("says which store is away and when the run continues", () => {
    const away = run("a", { storeOutage: { store: "objects" } as never, wakeAt: 50_000 });
    expect(phaseWords(away, 10_000)).toMatch(/^store unavailable \(objects\), continues in 40s, at [\d: -]*:50$/);
    expect(phaseWords(run("b", { needsNewer: true }), 0)).toBe("needs a newer version of cairn");
  });
});

describe("filters", () => {
  test("a run that cannot be read is shown under each filter, except a text that its ID does not have", () => {
    const damaged = { run: "local-abc" };
    const texts = ["", " LOCAL-a ", "clerk"];
    expect(texts.map((text) => mayMatch(damaged, { ...NO_FILTERS, group: "failed", text }))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("an address restores exactly the filters that made it, and holds no other", () => {
    const filters = {
      group: "failed",
      agent: "clerk",
      version: "2",
      phase: "AwaitingApproval",
      ...({ schedule: "clerk", label: "team=ops", parent: "local-x", crack: "runaway", tenant: "acme" } as const),
      text: "a&b=c",
      hours: 24,
      usdAbove: 0.5,
      takenOver: true,
    } as const;
    expect(filtersFrom(new URLSearchParams(queryOf(filters).toString()))).toEqual(filters);
    expect(queryOf(NO_FILTERS).toString()).toBe("");
    expect(filtersFrom(new URLSearchParams("group=all&hours=-3&above=x&phase=Asleep&crack=x"))).toEqual(NO_FILTERS);
  });

  test("each filter leaves out what it says", () => {
    const found = run("local-abc", { takeovers: 1, createdAt: 10 * 3_600_000 });
    const now = 11 * 3_600_000;
    const holds = (part: Partial<typeof NO_FILTERS>): boolean => matches(found, { ...NO_FILTERS, ...part }, now);
    expect([holds({}), holds({ text: " ABC " }), holds({ takenOver: true }), holds({ hours: 2 })]).toEqual(
      Array(4).fill(true),
    );
    expect([
      ...[holds({ text: "xyz" }), holds({ group: "failed" }), holds({ agent: "other" })],
      ...[holds({ version: "2" }), holds({ phase: "Paused" })],
      ...[holds({ schedule: "clerk" }), holds({ crack: "runaway" })],
      ...[holds({ hours: 0.5 }), holds({ usdAbove: 0.1 })],
    ]).toEqual(Array(9).fill(false));
    const labelled = run("local-abc", { parent: "local-x", labels: { team: "ops", env: "prod" } });
    const wanted = [
      { label: "env=prod" },
      { parent: "local-x" },
      { text: "TEAM=op" },
      { label: "team=op" },
      { parent: "local-y" },
    ];
    expect(wanted.map((part) => matches(labelled, { ...NO_FILTERS, ...part }, now))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    const nightly = run("local-abc", { isScheduled: true, signals: ["runaway"] });
    const asked = [{ schedule: "clerk" }, { crack: "runaway" }, { schedule: "other" }, { crack: "deadlock" }] as const;
    expect(asked.map((part) => matches(nightly, { ...NO_FILTERS, ...part }, now))).toEqual([true, true, false, false]);
  });
});

describe("commands to copy", () => {
  const action = {
    words: ["deny", "local-a", "c1", "--note", "it's late"],
    method: "POST",
    path: "/runs/local-a/approvals/c1-1",
  } as const;

  test("are quoted for a shell, and never hold a token", () => {
    expect(cliOf(action, "http://127.0.0.1:7420")).toBe(
      "npx cairn deny local-a c1 --note 'it'\\''s late' --api http://127.0.0.1:7420",
    );
    const curl = curlOf({ ...action, body: { note: "it's" } }, { base: "http://127.0.0.1:7420/", hasToken: true });
    expect(curl).toBe(
      `curl -X POST 'http://127.0.0.1:7420/runs/local-a/approvals/c1-1' -H "Authorization: Bearer $CAIRN_TOKEN" -H 'content-type: application/json' -d '{"note":"it'\\''s"}'`,
    );
  });
});

describe("the request of an operation", () => {
  test("fills its path, sends the rest of its input as the body, and leaves out what is undefined", () => {
    const input = { run: "a/b", gate: "c1?", as: "deny", note: undefined } as const;
    expect(requestOf("decide", input)).toEqual({
      method: "POST",
      path: "/runs/a%2Fb/approvals/c1%3F",
      body: { as: "deny" },
      isKeyed: false,
    });
    expect(requestOf("purge", { run: "local-a" })).toEqual({ method: "DELETE", path: "/runs/local-a", isKeyed: false });
    expect(pathOf("snapshot", { run: "local-a", version: 3 })).toBe("/runs/local-a/snapshots/3");
  });
});

describe("one action for several runs", () => {
  test("asks only the runs that it can change, and says why it leaves the others", () => {
    const reasons = (of: Partial<Summary>): readonly (string | null)[] =>
      BULK_ACTIONS.map((name) => whyNot(name, run("a", of)));
    const never = "its store was not restored, or it was said before";
    expect(reasons({})).toEqual([null, "it is not paused", null, "it has not failed", never]);
    expect(reasons({ status: "paused" })).toEqual(["it is paused", null, null, "it has not failed", never]);
    const failed = reasons({ status: "failed", inProgress: false, restored: { at: 2, asOf: 1, waits: false } });
    expect(failed).toEqual(["it has ended", "it has ended", "it has ended", null, null]);
  });

  test("sends each request once, four at a time, and none after a stop", async () => {
    const sent: number[] = [];
    let open = 0;
    let most = 0;
    let isStopped = false;
    const send = async (item: number): Promise<void> => {
      sent.push(item);
      open += 1;
      most = Math.max(most, open);
      await Promise.resolve();
      open -= 1;
      if (item === 9) isStopped = true;
    };
    await sendEach([1, 2, 3, 4, 5, 6], send, () => isStopped);
    expect(sent).toEqual([1, 2, 3, 4, 5, 6]);
    expect(most).toBe(4);
    await sendEach([9, 10, 11, 12, 13, 14], send, () => isStopped);
    expect(sent.slice(6)).toEqual([9, 10, 11, 12]);
  });
});

test("the palette finds all words, and first what begins with them", () => {
  const all = ["my travel", "travel", "orders"].map((title) => ({ title, says: "agent", path: [title] }));
  expect(findAmong(all, "trav").map(({ title }) => title)).toEqual(["travel", "my travel"]);
  expect(findAmong(all, "agent orders").map(({ title }) => title)).toEqual(["orders"]);
});
