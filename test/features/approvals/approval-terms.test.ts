/** How long approvals wait for a human, and what follows: a denial, or another question, as agent and tool say. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type ApprovalOptions, approvalsOf } from "../../../src/sdk/approvals.ts";
import { AgentInvalid, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { agentInRole } from "../../../src/engine/model/role.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { decideGate, gatesOf, stateOf } from "../../support/agents/approval-agent.ts";
import { newState } from "../../support/states/states-and-events.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { FINAL_REPLY, createHarness } from "../../support/harness/harness.ts";
import { beforeCall } from "../../support/harness/chain-steps.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function waiting(of: {
  readonly agent?: ApprovalOptions;
  readonly tool?: ApprovalOptions;
  readonly more?: object;
  readonly approval?: () => string | false;
}) {
  const harness = createHarness();
  const ran: string[] = [];
  const agent = defineAgent({
    name: "payer",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "pay", args: {} }] } : FINAL_REPLY),
    }),
    tools: {
      pay: tool({
        input: z.object({}),
        effect: "unsafe",
        approval: of.approval ?? "always",
        ...(of.tool && { approvals: of.tool }),
        run: ({ key }) => ran.push(key),
      }),
    },
    ...(of.agent && { approvals: of.agent }),
    ...of.more,
  }) as Agent;
  const runner = runnerOf(harness.world, agent);
  const payload = await beginRun(harness.world, agent, {});
  const reply = await drive(runner, payload);
  return { harness, runner, reply, run: payload.run, ran, startedAt: harness.clock.now() };
}

/** Lets the gate expire, and drives the run. */
async function expired({ harness, runner, reply, run }: Awaited<ReturnType<typeof waiting>>) {
  harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
  return drive(runner, { ...reply, epoch: harness.row(run).epoch });
}

test.each<[string, { agent?: ApprovalOptions; tool?: ApprovalOptions }, number, boolean]>([
  ["a day, then a denial, where nothing is said", {}, DAY_MS, false],
  ["as long as the agent says", { agent: { expires: "3d" } }, 3 * DAY_MS, false],
  ["as long as the tool says", { agent: { expires: "3d" }, tool: { expires: "2h" } }, 2 * HOUR_MS, false],
  ["as the agent says on expiry", { agent: { onExpiry: "ask" }, tool: { expires: 5_000 } }, 5_000, true],
  ["29 days at most", { agent: { expires: "29d", onExpiry: "ask" } }, 29 * DAY_MS, true],
  ["29 days, then again, where it never expires", { tool: { expires: "never" } }, 29 * DAY_MS, true],
])("an approval waits %s", async (_, terms, ms, asksAgain) => {
  const { harness, run, startedAt } = await waiting(terms);
  const shown = await show(harness.world, run);
  expect(shown?.gates).toMatchObject([{ expiresAt: startedAt + ms, asksAgain }]);
  expect(harness.row(run).wakeAt).toBe(startedAt + ms);
});

test("an approval that expires is denied unless its agent says otherwise", async () => {
  const of = await waiting({ agent: { expires: "3d" } });
  expect((await expired(of)).route).toBe("done");
  expect(of.ran).toEqual([]);
});

describe("an approval that asks again", () => {
  test("asks about the same plan and arguments under another gate, and an earlier gate opens nothing", async () => {
    const of = await waiting({ agent: { expires: "3d", onExpiry: "ask" } });
    const [first] = await gatesOf(of.harness.world, of.run);
    expect((await expired(of)).route).toBe("park");
    const [second] = await gatesOf(of.harness.world, of.run);
    expect(second).toMatchObject({ argsHash: first?.argsHash, planHash: first?.planHash, decision: null });
    expect(second?.gate).not.toBe(first?.gate);
    expect(second?.expiresAt).toBe(of.startedAt + 6 * DAY_MS);
    const old = { run: of.run, gate: first?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
    expect((await decide(of.harness.world, old)).kind).not.toBe("accepted");
    expect(of.ran).toEqual([]);
    expect(await decideGate(of.harness.world, { run: of.run, as: "approve" })).toMatchObject({ kind: "accepted" });
    const last = await drive(of.runner, { ...of.reply, epoch: of.harness.row(of.run).epoch });
    expect(last.route).toBe("done");
    assertSafety("the call is made once", () => expect(of.ran).toHaveLength(1));
  });

  test("has an event before each question, and moves the time at which the run would expire", async () => {
    const of = await waiting({ agent: { expires: "never" } });
    for (let times = 1; times <= 3; times += 1) {
      expect((await expired(of)).route).toBe("park");
      expect(of.harness.row(of.run)).toMatchObject({
        status: "waiting",
        deadline: of.harness.clock.now() + of.harness.world.limits.idleRunMs,
        wakeAt: of.startedAt + (times + 1) * 29 * DAY_MS,
      });
    }
    const events = (await timeline(of.harness.world, { run: of.run, after: 0 })) ?? [];
    const asked = events.flatMap((event) =>
      event.kind === "ApprovalRequested" || (event.kind === "RecoveryDecided" && event.action.kind === "askAgain")
        ? [event.kind]
        : [],
    );
    const again = ["RecoveryDecided", "ApprovalRequested"];
    expect(asked).toEqual(["ApprovalRequested", ...again, ...again, ...again]);
    const gates = events.flatMap((event) => (event.kind === "ApprovalRequested" ? [event.gate] : []));
    expect(new Set(gates).size).toBe(4);
  });

  test("does not ask its policy, which could say by then that none is needed", async () => {
    let asked = 0;
    const of = await waiting({
      agent: { expires: "3d", onExpiry: "ask" },
      approval: () => {
        asked += 1;
        return asked === 1 ? "much" : false;
      },
    });
    expect((await expired(of)).route).toBe("park");
    expect(asked).toBe(1);
    expect(of.ran).toEqual([]);
    expect(await gatesOf(of.harness.world, of.run)).toMatchObject([{ reason: "much" }]);
  });

  test("never moves a deadline of the agent", async () => {
    const of = await waiting({ agent: { expires: "2h", onExpiry: "ask" }, more: { deadline: { after: "3h" } } });
    expect((await expired(of)).route).toBe("park");
    expect(of.harness.row(of.run).wakeAt).toBe(of.startedAt + 3 * HOUR_MS);
    of.harness.clock.moveTo(of.startedAt + 3 * HOUR_MS + of.harness.world.limits.skewMs);
    await drive(of.runner, { ...of.reply, epoch: of.harness.row(of.run).epoch });
    expect(of.harness.row(of.run).status).toBe("failed");
    expect((await stateOf(of.harness.world, of.run)).failure?.code).toBe("DeadlineExpired");
  });

  test("does not ask again over a decision that comes while it expires", async () => {
    const of = await waiting({ agent: { expires: "3d", onExpiry: "ask" } });
    of.harness.clock.moveTo(of.harness.row(of.run).wakeAt ?? 0);
    const world = beforeCall(
      of.harness.world,
      "commit",
      () => decideGate(of.harness.world, { run: of.run, as: "approve" }),
      ({ unlessWoken }) => unlessWoken,
    );
    const { agentOf } = of.runner;
    const last = await drive({ ...of.runner, world, agentOf }, { ...of.reply, epoch: of.harness.row(of.run).epoch });
    expect(last.route).toBe("done");
    assertSafety("the call is made once", () => expect(of.ran).toHaveLength(1));
  });

  test("asks again for more budget as well", async () => {
    const of = await waiting({
      agent: { expires: "3d", onExpiry: "ask" },
      more: { budget: { beats: 1, onExhausted: "ask" } },
      approval: () => false,
    });
    const first = (await show(of.harness.world, of.run))?.gates[0];
    expect(first).toMatchObject({ call: "budget", asksAgain: true });
    expect((await expired(of)).route).toBe("park");
    const second = (await show(of.harness.world, of.run))?.gates[0];
    expect(second).toMatchObject({ call: "budget", asksAgain: true, expiresAt: of.startedAt + 6 * DAY_MS });
    expect(second?.gate).not.toBe(first?.gate);
  });
});

test.each<[unknown, RegExp]>([
  [{ expires: "30d" }, /expires is "30d": .* at most 29d/],
  [{ expires: "soon" }, /expires is "soon": write milliseconds/],
  [{ expires: 0 }, /expires is 0/],
  [{ onExpiry: "approve" }, /onExpiry is approve: write "deny" or "ask"/],
  [{ expires: "never", onExpiry: "deny" }, /nothing is denied: leave onExpiry out/],
  [{ expire: "3d" }, /has no option "expire": did you mean expires\?/],
  ["always", /write \{ expires: "3d", onExpiry: "ask" \}; whether a tool needs one is its option approval/],
  [null, /write \{ expires/],
])("approvals %j are refused", (given, message) => {
  expect(() => approvalsOf("agent payer", given as ApprovalOptions)).toThrow(AgentInvalid);
  expect(() => approvalsOf("agent payer", given as ApprovalOptions)).toThrow(message);
  expect(() => approvalsOf("agent payer", given as ApprovalOptions)).toThrow(/^the approvals of agent payer/);
});

test("an approval for all calls of a role holds although the policy of a tool is asynchronous", async () => {
  const policies = { allows: async () => false as const, asks: async () => "much", always: "always" as const };
  const tools = Object.fromEntries(
    Object.entries(policies).map(([name, approval]) => [
      name,
      tool({ input: z.object({}), effect: "unsafe", approval, run: () => null }),
    ]),
  );
  const model = scriptedModel({ name: "script", reply: () => FINAL_REPLY });
  const agent = defineAgent({ name: "a", version: "1", instructions: "", task: z.object({}), model, tools }) as Agent;
  const topology = { kind: "react", progress: { escalated: "they disagree" }, role: "react", where: "", from: 0 };
  const { tools: gated } = agentInRole({ ...newState(), topology }, agent);
  const context = { run: "r", task: {}, restart: 1 };
  const said = await Promise.all(
    Object.values(gated).map(async ({ approval }) =>
      typeof approval === "string" ? approval : await approval({}, context),
    ),
  );
  expect(said).toEqual(["they disagree", "much", "always"]);
});
