/** Runs whose tools are those of an MCP server: what its death, its silence and its changes do to them. */
import { describe, expect, test } from "vitest";
import { everyFaultPoint, runAgent } from "../../src/testing/kit/index.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { OF_THE_TEST, callingAgent, openDesk, patiently, serverOf, startedServerOf } from "./desk.ts";

const statuses = (run: { readonly calls: readonly { readonly status: string; readonly effect: string | null }[] }) =>
  run.calls.map(({ effect, status }) => `${effect} ${status}`);

describe("a call of a tool that only reads", () => {
  test.each(["die-before", "die-after"] as const)("is repeated when the server does %s", async (fault) => {
    const desk = openDesk();
    const source = await startedServerOf(desk.options);
    desk.fault(fault);
    const run = await patiently(() => runAgent(callingAgent({ source, tools: ["desk_look"] }), { input: {} }));
    expect({ status: run.status, calls: statuses(run) }).toEqual({ status: "completed", calls: ["none succeeded"] });
    expect(desk.seen("started")).toHaveLength(2);
    // The start of the second server may take so long that its first call is repeated too.
    expect(desk.seen("asked").length).toBeGreaterThan(1);
  });
});

describe("a call of a tool that the server does not call read-only", () => {
  test.each([
    ["die-before", false],
    ["die-after", true],
  ] as const)("has an unknown outcome when the server does %s, and is not repeated", async (fault, happened) => {
    const desk = openDesk();
    const source = await startedServerOf(desk.options);
    desk.fault(fault);
    const agent = callingAgent({ source, tools: ["desk_post", "desk_look"] });
    let reconciled = 0;
    const run = await patiently(() =>
      runAgent(agent, {
        ...OF_THE_TEST,
        reconcile: () => {
          reconciled += 1;
          return happened ? { kind: "happened", result: "posted" } : { kind: "absent" };
        },
      }),
    );
    expect(JSON.stringify(run.timeline)).toMatch(/MCP server desk was lost in the middle of the call: [^"]*SIGKILL/);
    expect(run.status).toBe("completed");
    const [asked, done] = (["asked", "done"] as const).map(
      (what) => desk.seen(what).filter(({ tool }) => tool === "post").length,
    );
    // An operator who says that it did not happen lets it run once more. The start of the second server may take so long
    // that the next call has an unknown outcome, too, and the operator is asked again.
    assertSafety("a call is repeated only where an operator says that it did not happen", () => {
      expect(asked).toBeLessThanOrEqual(happened ? 1 : 1 + reconciled);
      expect(done).toBeLessThanOrEqual(reconciled);
    });
    expect(done).toBeGreaterThan(0);
  });

  test("is repeated with the same key when the user says that it is keyed", async () => {
    const desk = openDesk();
    const source = await startedServerOf({ ...desk.options, effects: { post: "keyed" } });
    desk.fault("die-after");
    const run = await patiently(() => runAgent(callingAgent({ source, tools: ["desk_post"] }), OF_THE_TEST));
    expect({ status: run.status, calls: statuses(run) }).toEqual({ status: "completed", calls: ["keyed succeeded"] });
    const [first, second] = desk.seen("done");
    expect(first?.key).toMatch(/^desk_post-c1-/);
    expect(second?.key).toBe(first?.key);
  });

  test("fails with the text of the tool's own error", async () => {
    const desk = openDesk();
    const source = await startedServerOf(desk.options);
    desk.fault("fail");
    const run = await patiently(() => runAgent(callingAgent({ source, tools: ["desk_post"] }), OF_THE_TEST));
    expect(statuses(run)).toEqual(["unsafe failed"]);
    expect(JSON.stringify(run.timeline)).toContain("no a today");
  });
});

test("a call that hangs is cancelled at its timeout, and its outcome is unknown", async () => {
  const desk = openDesk();
  desk.fault("hang");
  // Its timeout is one of the virtual clock, so it comes after the request whatever the machine does.
  const source = await startedServerOf({ ...desk.options, timeoutMs: 1_000 });
  const run = await runAgent(callingAgent({ source, tools: ["desk_post"] }), {
    ...OF_THE_TEST,
    reconcile: () => ({ kind: "absent" }),
  });
  expect(JSON.stringify(run.timeline)).toContain("no answer within 1000 ms");
  expect(desk.seen("cancelled")).toHaveLength(1);
});

test("a run waits for a server that does not start, and loses nothing", async () => {
  const desk = openDesk();
  desk.fault("refuse-to-start");
  const run = await patiently(() =>
    runAgent(callingAgent({ source: serverOf(desk.options), tools: ["desk_look"] }), { input: {} }),
  );
  expect({ status: run.status, calls: statuses(run) }).toEqual({ status: "completed", calls: ["none succeeded"] });
  expect(JSON.stringify(run.timeline)).toContain("the desk is closed");
});

test("a kill at each fault point repeats only what may be repeated", async () => {
  const desk = openDesk();
  // Each call gets two seconds, in which a busy machine may not start a server.
  const source = await startedServerOf({ ...desk.options, effects: { post: "keyed" } });
  const agent = callingAgent({ source, tools: ["desk_look", "desk_post"] });
  const { points } = await patiently(() => everyFaultPoint(agent, OF_THE_TEST));
  expect(points).toContain("after:effect:desk_post#1");
  const keys = desk.seen("done").flatMap(({ tool, key }) => (tool === "post" ? [key] : []));
  // Each run has a key of its own, and a repeated call has the key of its first attempt.
  expect(new Set(keys).size).toBeLessThan(keys.length);
  // All these runs share one connection.
  expect(desk.seen("started")).toHaveLength(1);
});
