/**
 * Arguments are parsed once: what a human approves is what is keyed, run, probed and undone.
 * More than 400 lines: all cases look at one tool, and at what each of its functions was given.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Json } from "../../../src/core/json.ts";
import { type ScriptedReply, check, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { decideGate, gatesOf, stateOf } from "../../support/agents/approval-agent.ts";
import { dieInTool } from "../../support/harness/chain-steps.ts";
import { beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import { FINAL_REPLY, createChainHarness, createHarness } from "../../support/harness/harness.ts";

/** A default that is another one at each parse. */
function counting() {
  let parses = 0;
  return { next: () => (parses += 1), parses: () => parses };
}

/** What each function of a tool was given, in order. */
interface Seen {
  readonly by: "approval" | "key" | "before" | "run" | "probe" | "undo";
  readonly input: unknown;
}

interface Payer {
  readonly input: z.ZodType;
  readonly part?: Partial<Tool>;
  readonly args?: Json;
  /** The arguments of the other calls of the reply, before that one. */
  readonly before?: readonly Json[];
  readonly done?: Agent["done"];
  readonly version?: string;
  readonly seen?: Seen[];
}

function payer({ input, part = {}, args = { euros: 5 }, before = [], seen = [], ...of }: Payer) {
  const note = (by: Seen["by"], given: unknown) => void seen.push({ by, input: structuredClone(given) });
  const act = tool({
    input,
    effect: "keyed",
    key: (given) => {
      note("key", given);
      return null;
    },
    approval: (given) => {
      note("approval", given);
      return "it costs money";
    },
    run: ({ input: given }) => {
      note("run", given);
      return "paid";
    },
    ...(part as object),
  });
  const reply = ({ calls }: { readonly calls: readonly unknown[] }): ScriptedReply =>
    calls.length === 0 ? { calls: [...before, args].map((each) => ({ tool: "act", args: each })) } : FINAL_REPLY;
  const agent = defineAgent({
    ...{ name: "payer", version: of.version ?? "1", instructions: "", task: z.object({}) },
    model: scriptedModel({ name: "script", reply }),
    tools: { act },
    ...(of.done === undefined ? {} : { done: of.done }),
  }) as Agent;
  return { agent, seen, note };
}

/** Runs until the call waits for approval, then approves it. Each `drive` is another process. */
async function approved(of: Payer) {
  const harness = createHarness();
  const made = payer(of);
  const parked = await drive(runnerOf(harness.world, made.agent), await beginRun(harness.world, made.agent, {}));
  expect((await decideGate(harness.world, { run: parked.run, as: "approve" })).kind).toBe("accepted");
  return { harness, ...made, payload: parked, run: parked.run };
}

const intentsOf = async (world: Parameters<typeof timeline>[0], run: string) =>
  ((await timeline(world, { run, after: 0 })) ?? []).flatMap((event) => (event.kind === "ToolIntended" ? [event] : []));

const inputsOf = (seen: readonly Seen[]) => [...new Set(seen.map(({ input }) => JSON.stringify(input)))];

describe("a computed default", () => {
  /** The JSON Schema for the model computes the default, too. So parses are counted apart. */
  const stamped = () => {
    const [stamps, count] = [counting(), counting()];
    const parsed = (value: { readonly euros: number; readonly stamp: number }) => {
      count.next();
      return value;
    };
    const input = z.object({ euros: z.number(), stamp: z.number().default(stamps.next) }).transform(parsed);
    return { count, input };
  };

  test("is the same for the card, the approval, the key and the run, and is computed once", async () => {
    const { input, count } = stamped();
    const { harness, agent, payload, run, seen } = await approved({ input });
    const [card] = (await show(harness.world, run))?.gates ?? [];
    expect(card).toMatchObject({ args: { euros: 5 }, parsed: { as: "value", dropped: [] } });
    expect(card?.parsed?.json).toEqual({ euros: 5, stamp: expect.any(Number) });
    await drive(runnerOf(harness.world, agent), payload);
    expect(seen.map(({ by }) => by)).toEqual(["approval", "key", "run"]);
    expect({ inputs: inputsOf(seen), parses: count.parses() }).toEqual({
      inputs: [JSON.stringify(card?.parsed?.json)],
      parses: 1,
    });
  });

  test("leaves key and digest on the arguments as proposed", async () => {
    const keyOf = async (input: z.ZodType) => {
      const { harness, run } = await approved({ input });
      const [intent] = await intentsOf(harness.world, run);
      return [intent?.argsDigest, (await gatesOf(harness.world, run))[0]?.argsHash];
    };
    expect(await keyOf(stamped().input)).toEqual(await keyOf(z.object({ euros: z.number() })));
  });

  test.each(["keyed", "probed"] as const)("is the same after a death in the call, for a %s tool", async (effect) => {
    const harness = createChainHarness();
    const { input, count } = stamped();
    const { agent, seen, note } = payer({
      input,
      part: {
        effect,
        approval: "never",
        ...(effect === "probed" && {
          timeoutMs: 500,
          before: (given: unknown) => note("before", given),
          probe: ({ input: given }: { readonly input: unknown }) => {
            note("probe", given);
            return { kind: "absent" };
          },
        }),
      } as Partial<Tool>,
    });
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("completed");
    expect(seen.map(({ by }) => by)).toEqual(effect === "keyed" ? ["key", "run"] : ["before", "key", "probe", "run"]);
    expect({ inputs: inputsOf(seen).length, parses: count.parses() }).toEqual({ inputs: 1, parses: 1 });
  });

  test("is the same for an undo", async () => {
    const harness = createHarness();
    const { input, count } = stamped();
    const { agent, seen } = payer({
      input,
      done: [check("never", () => "it never is")],
      part: {
        approval: "never",
        undo: {
          effect: "keyed",
          run: ({ input: given }) => void seen.push({ by: "undo", input: given }),
        },
      },
    });
    await harness.advanceUntilSettled(drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {})));
    expect(seen.map(({ by }) => by)).toEqual(["key", "run", "undo"]);
    expect({ inputs: inputsOf(seen).length, parses: count.parses() }).toEqual({ inputs: 1, parses: 1 });
  });

  test("of a large value stands outside the state, and is read from there", async () => {
    const count = counting();
    const long = () => String(count.next()).padStart(50_000, "x");
    const input = z.object({ euros: z.number() }).transform(({ euros }) => ({ euros, text: long() }));
    const { harness, agent, payload, run, seen } = await approved({ input });
    expect((await stateOf(harness.world, run)).open[0]?.intent?.parsed?.json.kind).toBe("blob");
    await drive(runnerOf(harness.world, agent), payload);
    expect({ inputs: inputsOf(seen).length, parses: count.parses() }).toEqual({ inputs: 1, parses: 1 });
  });

  test("is not recorded where the arguments leave nothing to it, and they are not parsed again", async () => {
    const { input } = stamped();
    const { harness, agent, payload, run, seen } = await approved({ input, args: { euros: 5, stamp: 9 } });
    expect((await intentsOf(harness.world, run)).map(({ parsed }) => parsed)).toEqual([undefined]);
    expect((await show(harness.world, run))?.gates).toMatchObject([{ parsed: null }]);
    await drive(runnerOf(harness.world, agent), payload);
    expect(inputsOf(seen)).toEqual(['{"euros":5,"stamp":9}']);
  });

  test("is computed for the arguments of an edit, which a human typed for the schema", async () => {
    const { input, count } = stamped();
    const harness = createHarness();
    const { agent, seen } = payer({ input });
    const parked = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    await decideGate(harness.world, { run: parked.run, as: "edit", args: { euros: 3 } });
    await drive(runnerOf(harness.world, agent), parked);
    expect(seen.filter(({ by }) => by === "run")).toEqual([
      { by: "run", input: { euros: 3, stamp: expect.any(Number) } },
    ]);
    expect(count.parses()).toBe(2);
  });

  test("cannot be changed by a function of the tool", async () => {
    const { input } = stamped();
    const spoil = (given: unknown): false => {
      (given as { stamp: number }).stamp = 99;
      return false;
    };
    const { agent, seen } = payer({ input, part: { approval: spoil } });
    const harness = createHarness();
    await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    expect({ inputs: inputsOf(seen).length, seen: seen.length }).toEqual({ inputs: 1, seen: 2 });
    expect(inputsOf(seen)[0]).not.toContain("99");
  });
});

test("arguments whose time is over by the rule of their schema run as they were approved", async () => {
  let now = 0;
  const input = z.object({ euros: z.number() }).refine(() => now === 0, "too late");
  const { harness, agent, payload, seen } = await approved({ input });
  now = 1;
  await drive(runnerOf(harness.world, agent), payload);
  expect(seen.at(-1)).toEqual({ by: "run", input: { euros: 5 } });
});

describe("a value that is not JSON", () => {
  const dated = (time: () => number) =>
    z.object({ euros: z.number() }).transform(({ euros }) => ({ euros, at: new Date(time()) }));

  test("is used by the beat that parsed it, and parsed once", async () => {
    const count = counting();
    const harness = createHarness();
    const { agent, seen } = payer({ input: dated(count.next), part: { approval: "never" } });
    await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    expect(seen).toEqual([
      { by: "key", input: { euros: 5, at: new Date(1) } },
      { by: "run", input: { euros: 5, at: new Date(1) } },
    ]);
    expect(count.parses()).toBe(1);
  });

  test("is shown on the card, and made again after the approval", async () => {
    const { harness, agent, payload, run, seen } = await approved({ input: dated(() => 7) });
    expect((await show(harness.world, run))?.gates).toMatchObject([
      { parsed: { as: "projection", json: { euros: 5, at: "Date(1970-01-01T00:00:00.007Z)" }, dropped: [] } },
    ]);
    await drive(runnerOf(harness.world, agent), payload);
    expect(seen.at(-1)).toEqual({ by: "run", input: { euros: 5, at: new Date(7) } });
  });

  test("is asked about again if another process makes another one: nothing runs but what was approved", async () => {
    const count = counting();
    const { harness, agent, payload, run, seen } = await approved({ input: dated(count.next) });
    const [first] = await gatesOf(harness.world, run);
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "park" });
    expect(seen.map(({ by }) => by)).not.toContain("run");
    const [second] = (await show(harness.world, run))?.gates ?? [];
    expect(second).toMatchObject({ reason: expect.stringMatching(/^ArgumentsChanged: /) });
    expect(second?.parsed?.json).toEqual({ euros: 5, at: "Date(1970-01-01T00:00:00.002Z)" });
    expect(second?.gate).not.toBe(first?.gate);
    // Which of the two was approved is told by the gate.
    const late = await decide(harness.world, {
      ...{ run, gate: first?.gate ?? "", as: "approve", args: null, by: "ann", note: null },
    });
    expect(late.kind).toBe("duplicate");
  });

  test("is judged again if no human was asked: the policy sees the value that runs", async () => {
    const count = counting();
    const harness = createChainHarness();
    const input = z
      .object({ euros: z.number() })
      .transform(({ euros }) => ({ euros, at: new Date(euros === 1 ? 0 : count.next()) }));
    const approval = ({ at }: { readonly at: Date }) => (at.getTime() > 1 ? "it is late" : false);
    const part = { approval, key: null, parallel: false } as Partial<Tool>;
    const { agent, seen } = payer({ input, part, before: [{ euros: 1 }] });
    const { run } = await beginRun(harness.world, agent, {});
    // The second call waits for the first one, in which the process dies.
    await dieInTool(harness, agent);
    expect((await stateOf(harness.world, run)).open).toMatchObject([{ status: "started" }, { status: "proposed" }]);
    await harness.runUntilIdle(agent);
    expect(seen).toEqual([{ by: "run", input: { euros: 1, at: new Date(0) } }]);
    expect((await show(harness.world, run))?.gates).toMatchObject([
      { call: "c2", reason: "it is late", parsed: { json: { at: "Date(1970-01-01T00:00:00.002Z)" } } },
    ]);
  });

  test.each(["keyed", "probed", "idempotent"] as const)(
    "leaves a %s call unknown if it may have begun and another process makes another value",
    async (effect) => {
      const count = counting();
      const harness = createChainHarness();
      const { agent, seen } = payer({
        input: dated(count.next),
        part: {
          effect,
          approval: "never",
          key: null,
          ...(effect === "probed" && { probe: () => ({ kind: "absent" }) }),
        } as Partial<Tool>,
      });
      const { run } = await beginRun(harness.world, agent, {});
      await dieInTool(harness, agent);
      await harness.runUntilIdle(agent);
      expect({ status: harness.row(run).status, seen }).toEqual({ status: "blocked", seen: [] });
      const [entry] = (await ledger(harness.world, run)) ?? [];
      expect(entry).toMatchObject({ status: "unknown", evidence: expect.stringMatching(/^ArgumentsChanged: /) });
    },
  );

  test("is sent again under its key if another process makes the same value", async () => {
    const harness = createChainHarness();
    const { agent, seen } = payer({ input: dated(() => 7), part: { approval: "never", key: null } });
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("completed");
    expect(seen).toEqual([{ by: "run", input: { euros: 5, at: new Date(7) } }]);
  });

  test("of a call that a human let run again never leaves as another one: the human is asked again", async () => {
    const count = counting();
    const harness = createChainHarness();
    const part = { effect: "unsafe", approval: "never", key: null } as const;
    const { agent, seen } = payer({ input: dated(count.next), part });
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    harness.clock.moveTo(harness.clock.now() + 3_600_000);
    const said = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
    await harness.runUntilIdle(agent);
    expect({ status: harness.row(run).status, seen }).toEqual({ status: "blocked", seen: [] });
    expect(await ledger(harness.world, run)).toMatchObject([
      { status: "unknown", evidence: expect.stringContaining("ArgumentsChanged") },
    ]);
  });

  test("of a call without an effect is made anew", async () => {
    const count = counting();
    const harness = createChainHarness();
    const part = { effect: "none", approval: "never", key: null } as const;
    const { agent, seen } = payer({ input: dated(count.next), part });
    const { run } = await beginRun(harness.world, agent, {});
    await dieInTool(harness, agent);
    await harness.runUntilIdle(agent);
    expect({ status: harness.row(run).status, seen: seen.length }).toEqual({ status: "completed", seen: 1 });
  });

  test("that a function of the tool has changed is made again", async () => {
    const harness = createHarness();
    const spoil = ({ at }: { readonly at: Date }) => {
      at.setTime(99);
      return false;
    };
    const { agent, seen } = payer({ input: dated(() => 7), part: { approval: spoil, key: null } as Partial<Tool> });
    await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    expect(seen).toEqual([{ by: "run", input: { euros: 5, at: new Date(7) } }]);
  });

  test.each([true, false])("is undone by another process only if that makes the same one (%s)", async (isSame) => {
    const harness = createChainHarness();
    const undone: unknown[] = [];
    let time = 7;
    const { agent } = payer({
      input: dated(() => time),
      done: [check("never", () => "it never is")],
      part: {
        approval: "never",
        key: null,
        undo: { effect: "keyed", run: ({ input }) => void undone.push(input) },
      },
    });
    const { run } = await beginRun(harness.world, agent, {});
    // Its process ends between the effect and the undo.
    const { world, kill } = killableWorld(harness.world);
    const last = { ...agent, done: [check("dies", () => (kill(), "it never is"))] } as Agent;
    await harness.loseAttempt(last, world);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded" }]);
    if (!isSame) time = 8;
    await harness.runUntilIdle(agent);
    expect(undone).toEqual(isSame ? [{ euros: 5, at: new Date(7) }] : []);
    expect(harness.row(run).status).toBe(isSame ? "failed" : "blocked");
    const undo = ((await ledger(harness.world, run)) ?? []).find(({ call }) => call === "undo-c1");
    const asked = { status: "unknown", attempts: 0, evidence: expect.stringContaining("ArgumentsChanged") };
    expect(undo).toMatchObject(isSame ? { status: "succeeded" } : asked);
  });
});

test("a value that holds a secret is not recorded, and the tool gets it", async () => {
  const harness = createHarness();
  const token = `ghp_${"a1B2".repeat(9)}`;
  const input = z.object({ euros: z.number() }).transform(({ euros }) => ({ euros, token }));
  const { agent, seen } = payer({ input, part: { approval: "never" } });
  const { run } = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
  expect(seen.at(-1)).toEqual({ by: "run", input: { euros: 5, token } });
  const [intent] = await intentsOf(harness.world, run);
  expect(intent?.parsed).toMatchObject({ as: "projection" });
  expect(JSON.stringify(intent)).not.toContain(token);
});

test("a value that the tool's own redaction would change is not recorded", async () => {
  const harness = createHarness();
  const input = z.object({ euros: z.number() }).transform(({ euros }) => ({ euros, card: "4111 secret" }));
  const redact = (value: Json): Json => ({ ...(value as object), ...("card" in (value as object) && { card: "x" }) });
  const { agent, seen } = payer({ input, part: { approval: "never", redact } });
  const { run } = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
  expect(seen.at(-1)).toEqual({ by: "run", input: { euros: 5, card: "4111 secret" } });
  const [intent] = await intentsOf(harness.world, run);
  expect(intent?.parsed).toEqual({ as: "projection", json: { kind: "inline", json: { euros: 5, card: "x" } } });
});

describe("another version of the agent", () => {
  const input = z.object({ euros: z.number() });
  const withNotice = z.object({ euros: z.number(), notify: z.boolean().default(true) });

  test("that makes another value of approved arguments has to be approved again", async () => {
    const { harness, payload, run } = await approved({ input });
    const next = payer({ input: withNotice, version: "2" });
    const parked = await drive(runnerOf(harness.world, next.agent), payload);
    expect(parked).toMatchObject({ route: "park" });
    expect((await show(harness.world, run))?.gates).toMatchObject([
      { reason: expect.stringMatching(/^ArgumentsChanged: the version/), parsed: { json: { euros: 5, notify: true } } },
    ]);
    expect((await decideGate(harness.world, { run, as: "approve" })).kind).toBe("accepted");
    await drive(runnerOf(harness.world, next.agent), parked);
    expect(next.seen.at(-1)).toEqual({ by: "run", input: { euros: 5, notify: true } });
  });

  test("makes a business key of the value that runs, as long as nothing was sent", async () => {
    const key = (given: unknown) => `pay-${JSON.stringify(given).length}`;
    const { harness, payload, run } = await approved({ input, part: { key } });
    const next = payer({ input: withNotice, part: { key }, version: "2" });
    const parked = await drive(runnerOf(harness.world, next.agent), payload);
    await decideGate(harness.world, { run, as: "approve" });
    await drive(runnerOf(harness.world, next.agent), parked);
    expect((await intentsOf(harness.world, run)).map((intent) => intent.key)).toEqual(["pay-11", "pay-25"]);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", key: "pay-25" }]);
  });

  test("that takes approved arguments as they were runs them", async () => {
    const { harness, payload } = await approved({ input });
    const next = payer({ input, version: "2" });
    await drive(runnerOf(harness.world, next.agent), payload);
    expect(next.seen.at(-1)).toEqual({ by: "run", input: { euros: 5 } });
  });

  test("repeats a call that may have begun with the value that was sent", async () => {
    const harness = createChainHarness();
    const part = { approval: "never", key: null } as const;
    const { run } = await beginRun(harness.world, payer({ input, part }).agent, {});
    await dieInTool(harness, payer({ input, part }).agent);
    const next = payer({ input: withNotice, part, version: "2" });
    await harness.runUntilIdle(next.agent);
    expect({ status: harness.row(run).status, seen: next.seen }).toEqual({
      status: "completed",
      seen: [{ by: "run", input: { euros: 5 } }],
    });
  });

  test("repeats a call that a human let run again with the value that was sent", async () => {
    const harness = createChainHarness();
    const part = { effect: "unsafe", approval: "never", key: null } as const;
    const { run } = await beginRun(harness.world, payer({ input, part }).agent, {});
    await dieInTool(harness, payer({ input, part }).agent);
    const next = payer({ input: withNotice, part, version: "2" });
    await harness.runUntilIdle(next.agent);
    harness.clock.moveTo(harness.clock.now() + 3_600_000);
    const said = { run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
    await harness.runUntilIdle(next.agent);
    expect({ status: harness.row(run).status, seen: next.seen }).toEqual({
      status: "completed",
      seen: [{ by: "run", input: { euros: 5 } }],
    });
  });

  test("that refuses the arguments of a call that may have begun does not repeat it", async () => {
    const harness = createChainHarness();
    const part = { approval: "never", key: null } as const;
    const { run } = await beginRun(harness.world, payer({ input, part }).agent, {});
    await dieInTool(harness, payer({ input, part }).agent);
    const next = payer({ input: z.object({ cents: z.number() }), part, version: "2" });
    await harness.runAttempt(next.agent);
    await harness.runAttempt(next.agent);
    expect({ status: harness.row(run).status, seen: next.seen }).toEqual({ status: "blocked", seen: [] });
    expect((await show(harness.world, run))?.unknown).toMatchObject([{ toolGone: true }]);
  });
});

describe("what the schema drops", () => {
  const input = z.object({ euros: z.number() });
  const proto = JSON.parse('{"euros":3,"__proto__":{"admin":true}}') as Json;

  test("is named on the card", async () => {
    const harness = createHarness();
    const { agent } = payer({ input, args: { euros: 5, note: "soon" } });
    const { run } = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    expect((await show(harness.world, run))?.gates).toMatchObject([
      { args: { euros: 5, note: "soon" }, parsed: { as: "value", json: { euros: 5 }, dropped: ["note"] } },
    ]);
  });

  test("of an edit is named to its sender, and recorded beside it", async () => {
    const harness = createHarness();
    const { agent, seen } = payer({ input });
    const parked = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    const { run } = parked;
    const gate = (await gatesOf(harness.world, run))[0]?.gate ?? "";
    const said = { run, gate, as: "edit", by: "ann", note: null, agent } as const;
    expect(await decide(harness.world, { ...said, args: { euros: 3, note: "soon" } })).toMatchObject({
      ...{ kind: "accepted", dropped: ["note"] },
    });
    await drive(runnerOf(harness.world, agent), parked);
    expect(seen.at(-1)).toEqual({ by: "run", input: { euros: 3 } });
    expect((await intentsOf(harness.world, run)).at(-1)?.parsed).toEqual({
      ...{ as: "value", json: { kind: "inline", json: { euros: 3 } } },
    });
  });

  test("of an edit is refused if it is `__proto__`, before anything is sent", async () => {
    const harness = createHarness();
    const { agent } = payer({ input });
    const { run } = await drive(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {}));
    const gate = (await gatesOf(harness.world, run))[0]?.gate ?? "";
    expect(await decide(harness.world, { run, gate, as: "edit", args: proto, by: "ann", note: null })).toEqual({
      ...{ kind: "refused", why: expect.stringContaining("__proto__") },
    });
    expect(harness.world.store.messages.size).toBe(0);
  });
});
