/**
 * A boss and its two children, with one fault at every call of a store in turn: the process dies before or after the
 * call, its answer is lost, or it freezes there and goes on when all is over. Each time the result is right, each child
 * is made once, and what they spent is spent once.
 */
import { expect, test } from "vitest";
import { NOTHING_SPENT, type Spent, add } from "../../../src/core/policy/budget.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { verify } from "../../../src/history/verify.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";
import { wrapPorts } from "../../support/harness/ports.ts";
import { createChainHarness, advanceUntilSettled, rowOf } from "../../support/harness/harness.ts";
import { endAttempt, startAttempt, performTask, flushPromises, sweep } from "../../support/harness/chain-steps.ts";
import { boss, worker } from "../../support/agents/workers.ts";

const FAULTS = ["crash before", "crash after", "answer lost", "freeze"] as const;
type Fault = (typeof FAULTS)[number];

const WRITES = /^(createChildren|claim|commit|park|deliver|request|handOver|create|put|take)$/;
const TASKS_MAX = 120;
const AGENTS = [boss(), worker()] as const;

/** Counts the calls of all processes; the call number `at` meets the fault. */
class Meter {
  calls = 0;
  met = "";
  /** The process that met it died. */
  died = false;
  frozen: (() => void) | null = null;
  readonly #at: number;
  readonly #fault: Fault;

  constructor(at: number, fault: Fault) {
    this.#at = at;
    this.#fault = fault;
  }

  /** The world of one process. */
  worldOf(world: World): World {
    let isDead = false;
    return wrapPorts(world, async ({ method, send }) => {
      if (isDead) return new Promise(() => undefined);
      this.calls += 1;
      if (this.calls !== this.#at) return send();
      this.met = method;
      if (this.#fault === "freeze") {
        this.died = true;
        await new Promise<void>((thaw) => (this.frozen = thaw));
        return send();
      }
      if (this.#fault === "answer lost") {
        await send();
        if (!WRITES.test(method)) throw new StoreUnreachable("no answer", { store: method });
        return { kind: "ambiguous", why: "no answer" };
      }
      if (this.#fault === "crash after") await send();
      isDead = true;
      this.died = true;
      return new Promise(() => undefined);
    });
  }
}

/** One play with a fault at that call. Returns what it met; an empty text once there is no such call. */
async function play(at: number, fault: Fault): Promise<string> {
  const harness = createChainHarness();
  const { run } = await beginRun(harness.world, AGENTS[0], {});
  const meter = new Meter(at, fault);
  const late: Promise<unknown>[] = [];
  for (let task = 0; task < TASKS_MAX; task += 1) {
    const next = harness.world.chain.next();
    if (next === null || next > harness.clock.now() + 3_600_000) {
      // The sweeper gives what is left its next step.
      harness.clock.moveTo(harness.clock.now() + 30_000);
      await sweep(harness.world);
      if (harness.world.chain.next() === null) break;
      continue;
    }
    const out = startAttempt(harness);
    const before = meter.died;
    const result = performTask(out.task, { world: meter.worldOf(harness.world), agent: AGENTS });
    let isOver = false;
    const settled = result.then(
      (value) => ((isOver = true), value),
      () => ((isOver = true), null),
    );
    for (let turn = 0; turn < 40 && !isOver && meter.died === before; turn += 1) await flushPromises();
    if (meter.died !== before) {
      if (fault === "freeze") late.push(settled);
      endAttempt(harness, out, null);
    } else endAttempt(harness, out, await advanceUntilSettled(harness, settled));
  }
  meter.frozen?.();
  await advanceUntilSettled(harness, Promise.all(late));
  const context = `${fault} at call ${at}, ${meter.met}`;
  const shown = await show(harness.world, run);
  expect([context, shown?.status, shown?.children]).toEqual([context, "completed", []]);
  expect(shown?.result).toEqual(
    expect.arrayContaining([0, 1].map((part) => ({ outcome: "succeeded", result: { memo: `part ${part}` } }))),
  );
  const children = [...harness.world.store.rows.values()].filter(({ parent }) => parent?.run === run);
  expect([context, children.map(({ status, endNotified }) => [status, endNotified])]).toEqual([
    context,
    [1, 2].map(() => ["completed", true]),
  ]);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const own = events.flatMap((each) => (each.kind === "BudgetDebited" && each.child === undefined ? [each.debit] : []));
  const all = [...own, ...children.map(({ spent }) => spent)].reduce<Spent>(
    (sum, each) => add(sum, each),
    NOTHING_SPENT,
  );
  expect([context, rowOf(harness, run).spent]).toEqual([context, all]);
  expect([context, (await verify(harness.world, { run }))?.findings]).toEqual([context, []]);
  return meter.met;
}

test.each(FAULTS)(
  "%s: at any call of dispatch, creation, work and report nothing is lost or done twice",
  ENUMERATION_TIMEOUT,
  async (fault) => {
    const met = new Set<string>();
    for (let at = 1; ; at += 1) {
      const what = await play(at, fault);
      if (what === "") break;
      met.add(what);
    }
    for (const call of ["createChildren", "claim", "commit", "deliver", "recordEndNotified", "start"])
      expect(met).toContain(call);
  },
);
