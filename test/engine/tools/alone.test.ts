/** Calls of one reply run side by side, unless a tool says that its calls run alone: then one after another, in order. */
import { describe, expect, test } from "vitest";
import { OutcomeUnknown } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { stateOf } from "../../support/asking.ts";
import { type Ask, type Order, asks, deeds } from "../../support/deeds.ts";
import { begin, drive, runnerOf } from "../../support/drive.ts";
import { type Stage, passing, rowOf, stage } from "../../support/stage.ts";

interface Told {
  readonly pay?: object;
  readonly run?: (input: Order) => unknown;
}

/** Pays alone, mails beside others. What ran beside what: `+` begins, `-` ends. */
async function ran(on: Stage, calls: readonly Ask[], { pay = {}, run = () => "done" }: Told = {}) {
  const trace: string[] = [];
  const act = async (input: Order): Promise<unknown> => {
    trace.push(`+${input.to}`);
    await new Promise((resolve) => setImmediate(resolve));
    trace.push(`-${input.to}`);
    return run(input);
  };
  const of = deeds({ reply: asks(calls), pay: { parallel: false, ...pay }, run: ({ input }) => act(input) });
  const payload = await begin(on.world, of.agent, {});
  const runner = runnerOf(on.world, of.agent);
  const reply = await passing(on, drive(runner, payload));
  return { run: reply.run, reply, trace, runner };
}

test("each in its place: those before it have ended, those after it have not begun", async () => {
  const on = stage();
  const calls: readonly Ask[] = [
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
  const { reply, trace, run } = await ran(on, calls);
  expect(reply.route).toBe("done");
  expect(trace.join(" ")).toBe("+a +b -a -b +c -c +d -d +e +f -e -f");
  expect(rowOf(on, run).spent.toolCalls).toBe(6);
  // What came before it is durable before it begins.
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  const versionOf = (kind: string, call: string) =>
    events.find((event) => event.kind === kind && "call" in event && event.call === call)?.version ?? 0;
  expect(versionOf("ToolResultRecorded", "c3")).toBe(versionOf("ToolInvoked", "c4"));
});

test("without it all of them run side by side", async () => {
  const { trace } = await ran(
    stage(),
    [
      ["pay", "a", 1],
      ["pay", "b", 1],
    ],
    { pay: { parallel: true } },
  );
  expect(trace.join(" ")).toBe("+a +b -a -b");
});

test("one that is refused or fails lets the next one go", async () => {
  const fails = ({ to }: Order): string => {
    if (to === "b") throw new Error("no");
    return "done";
  };
  const key = ({ to }: Order): string => (to === "a" ? "" : to);
  const { trace, reply } = await ran(
    stage(),
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
  expect([reply.route, trace.join(" ")]).toEqual(["done", "+b -b +c -c"]);
});

describe("one of which nobody knows", () => {
  const lost = ({ to }: Order): string => {
    if (to === "a") throw new OutcomeUnknown("the answer was lost");
    return "done";
  };

  test("blocks the run and those after it, until somebody says what became of it", async () => {
    const on = stage();
    const { run, reply, trace, runner } = await ran(
      on,
      [
        ["pay", "a", 1],
        ["mail", "b", 1],
      ],
      {
        pay: { effect: "unsafe" },
        run: lost,
      },
    );
    expect([reply.route, trace.join(" ")]).toEqual(["park", "+a -a"]);
    expect(rowOf(on, run)).toMatchObject({ status: "blocked", phase: "AwaitingReconcile" });
    await reconcile(on.world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });
    expect((await passing(on, drive(runner, reply))).route).toBe("done");
    expect(trace.join(" ")).toBe("+a -a +b -b");
  });

  test("ends the run before those after it begin, where its tool says so", async () => {
    const on = stage();
    const pay = { effect: "unsafe", onUnknown: "fail" };
    const { run, reply, trace, runner } = await ran(
      on,
      [
        ["pay", "a", 1],
        ["mail", "b", 1],
      ],
      { pay, run: lost },
    );
    on.clock.moveTo(rowOf(on, run).wakeAt ?? 0);
    expect((await passing(on, drive(runner, reply))).route).toBe("failed");
    expect(trace.join(" ")).toBe("+a -a");
    expect(await ledger(on.world, run)).toMatchObject([{ status: "unknown" }, { status: "intended", attempts: 0 }]);
  });
});

test("people are asked about all gates at once, and what waits for one is waited for by the others", async () => {
  const on = stage();
  const approval = ({ usd }: Order): string | false => (usd > 10 ? "it is much" : false);
  const calls = [
    ["pay", "a", 50],
    ["pay", "b", 50],
    ["mail", "c", 1],
  ] as const;
  const { run, reply, trace, runner } = await ran(on, calls, { pay: { approval } });
  expect([reply.route, trace]).toEqual(["park", []]);
  expect(rowOf(on, run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
  const gates = (await stateOf(on.world, run)).open.flatMap(({ gate }) => (gate === null ? [] : [gate.gate]));
  expect(gates).toHaveLength(2);
  const say = (gate: string | undefined) =>
    decide(on.world, { run, gate: gate ?? "", as: "approve", args: null, by: "ann", note: null });
  await say(gates[1]);
  const still = await passing(on, drive(runner, reply));
  expect([still.route, trace]).toEqual(["park", []]);
  await say(gates[0]);
  expect((await passing(on, drive(runner, still))).route).toBe("done");
  expect(trace.join(" ")).toBe("+a -a +b -b +c -c");
});

test("a cancel that comes while one runs lets none after it begin", async () => {
  const on = stage();
  const cancels = async (): Promise<string> => {
    const [run = ""] = on.world.store.rows.keys();
    await sendRequest(on.world, { run, want: "cancel" });
    return "done";
  };
  const { run, trace } = await ran(
    on,
    [
      ["pay", "a", 1],
      ["pay", "b", 1],
    ],
    { run: cancels },
  );
  expect(trace.join(" ")).toBe("+a -a");
  expect(rowOf(on, run).status).toBe("cancelled");
});
