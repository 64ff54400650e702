/** Calls of one reply run side by side, unless a tool says that its calls run alone: then one after another, in order. */
import { gateIn } from "../../../src/core/calls/held-calls.ts";
import { describe, expect, test } from "vitest";
import { OutcomeUnknown } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";
import {
  type PlannedCall,
  type PaymentOrder,
  replyWithCalls,
  sideEffectAgent,
} from "../../support/agents/side-effect-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

interface ProgressFact {
  readonly pay?: object;
  readonly run?: (input: PaymentOrder) => unknown;
}

/** Pays alone, mails beside others. What ran beside what: `+` begins, `-` ends. */
async function ran(
  harness: Harness,
  calls: readonly PlannedCall[],
  { pay = {}, run = () => "done" }: ProgressFact = {},
) {
  const trace: string[] = [];
  const act = async (input: PaymentOrder): Promise<unknown> => {
    trace.push(`+${input.to}`);
    await new Promise((resolve) => setImmediate(resolve));
    trace.push(`-${input.to}`);
    return run(input);
  };
  const of = sideEffectAgent({
    reply: replyWithCalls(calls),
    pay: { parallel: false, ...pay },
    run: ({ input }) => act(input),
  });
  const payload = await beginRun(harness.world, of.agent, {});
  const runner = runnerOf(harness.world, of.agent);
  const reply = await harness.advanceUntilSettled(drive(runner, payload));
  return { run: reply.run, reply, trace, runner };
}

test("calls that run alone run in order: those before have ended, those after have not started", async () => {
  const harness = createHarness();
  const calls: readonly PlannedCall[] = [
    ...([
      ["mail", "a", 1],
      ["mail", "b", 1],
      ["pay", "c", 1],
    ] as const),
    ...([
      ["pay", "d", 1],
      ["mail", "e", 1],
      ["mail", "f", 1],
    ] as const),
  ];
  const { reply, trace, run } = await ran(harness, calls);
  expect(reply.route).toBe("done");
  expect(trace.join(" ")).toBe("+a +b -a -b +c -c +d -d +e +f -e -f");
  expect(harness.row(run).spent.toolCalls).toBe(6);
  // What came before it is durable before it begins.
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const versionOf = (kind: string, call: string) =>
    events.find((event) => event.kind === kind && "call" in event && event.call === call)?.version ?? 0;
  expect(versionOf("ToolResultRecorded", "c3")).toBe(versionOf("ToolInvoked", "c4"));
});

test("calls that do not run alone run side by side", async () => {
  const { trace } = await ran(
    createHarness(),
    [
      ["pay", "a", 1],
      ["pay", "b", 1],
    ],
    { pay: { parallel: true } },
  );
  expect(trace.join(" ")).toBe("+a +b -a -b");
});

test("a lone call that is refused or fails lets the next one start", async () => {
  const fails = ({ to }: PaymentOrder): string => {
    if (to === "b") throw new Error("no");
    return "done";
  };
  const key = ({ to }: PaymentOrder): string => (to === "a" ? "" : to);
  const { trace, reply } = await ran(
    createHarness(),
    [
      ["pay", "a", 1],
      ["pay", "b", 1],
      ["pay", "c", 1],
    ],
    {
      pay: { key },
      run: fails,
    },
  );
  expect({ route: reply.route, trace: trace.join(" ") }).toEqual({ route: "done", trace: "+b -b +c -c" });
});

describe("a lone call with an unknown outcome", () => {
  const lost = ({ to }: PaymentOrder): string => {
    if (to === "a") throw new OutcomeUnknown("the answer was lost");
    return "done";
  };

  test("blocks the run and the calls after it until it is reconciled", async () => {
    const harness = createHarness();
    const { run, reply, trace, runner } = await ran(
      harness,
      [
        ["pay", "a", 1],
        ["mail", "b", 1],
      ],
      {
        pay: { effect: "unsafe" },
        run: lost,
      },
    );
    expect({ route: reply.route, trace: trace.join(" ") }).toEqual({ route: "park", trace: "+a -a" });
    expect(harness.row(run)).toMatchObject({ status: "blocked", phase: "AwaitingReconcile" });
    await reconcile(harness.world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });
    expect((await harness.advanceUntilSettled(drive(runner, reply))).route).toBe("done");
    expect(trace.join(" ")).toBe("+a -a +b -b");
  });

  test("ends the run before the calls after it start when its tool declares that", async () => {
    const harness = createHarness();
    const pay = { effect: "unsafe", onUnknown: "fail" };
    const { run, reply, trace, runner } = await ran(
      harness,
      [
        ["pay", "a", 1],
        ["mail", "b", 1],
      ],
      { pay, run: lost },
    );
    harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
    expect((await harness.advanceUntilSettled(drive(runner, reply))).route).toBe("failed");
    expect(trace.join(" ")).toBe("+a -a");
    expect(await ledger(harness.world, run)).toMatchObject([
      { status: "unknown" },
      { status: "intended", attempts: 0 },
    ]);
  });
});

test("all gates open at once, and calls wait for a lone call before them", async () => {
  const harness = createHarness();
  const approval = ({ usd }: PaymentOrder): string | false => (usd > 10 ? "it is much" : false);
  const calls = [
    ["pay", "a", 50],
    ["pay", "b", 50],
    ["mail", "c", 1],
  ] as const;
  const { run, reply, trace, runner } = await ran(harness, calls, { pay: { approval } });
  expect({ route: reply.route, trace }).toEqual({ route: "park", trace: [] });
  expect(harness.row(run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
  const gates = (await stateOf(harness.world, run)).open.flatMap((open) => gateIn(open)?.gate ?? []);
  expect(gates).toHaveLength(2);
  const say = (gate: string | undefined) =>
    decide(harness.world, { run, gate: gate ?? "", as: "approve", args: null, by: "ann", note: null });
  await say(gates[1]);
  const still = await harness.advanceUntilSettled(drive(runner, reply));
  expect({ route: still.route, trace }).toEqual({ route: "park", trace: [] });
  await say(gates[0]);
  expect((await harness.advanceUntilSettled(drive(runner, still))).route).toBe("done");
  expect(trace.join(" ")).toBe("+a -a +b -b +c -c");
});

test("a cancel during a lone call lets no call after it start", async () => {
  const harness = createHarness();
  const cancels = async (): Promise<string> => {
    const [run = ""] = harness.world.store.rows.keys();
    await sendRequest(harness.world, { run, want: "cancel" });
    return "done";
  };
  const { run, trace } = await ran(
    harness,
    [
      ["pay", "a", 1],
      ["pay", "b", 1],
    ],
    { run: cancels },
  );
  expect(trace.join(" ")).toBe("+a -a");
  expect(harness.row(run).status).toBe("cancelled");
});
