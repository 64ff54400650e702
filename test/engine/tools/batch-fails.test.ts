/** What ends a batch of calls that run side by side, where a commit fails, or a call cannot be started. */
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../src/ports/agent.ts";
import { StateTooLarge } from "../../../src/codec/snapshot.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import type { ActiveRun } from "../../../src/engine/context/active-run.ts";
import { runBatch } from "../../../src/engine/tools/batch.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { ledger, timeline } from "../../../src/operations/views.ts";
import { type Run, beside, held, statuses } from "../../support/beside.ts";
import { after, calls as calling, intended, replied, startedEvent } from "../../support/build.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import { BEAT_MS, never, passing, stage } from "../../support/stage.ts";
import { meeting, rest } from "../../support/steps.ts";

/** A table whose commits do what is given from the moment on at which a call has returned. */
const from = (
  world: World,
  isLate: () => boolean,
  instead: () => Promise<never> | { readonly kind: "missing" },
): World => meeting(world, "commit", (commit) => async (asked) => (isLate() ? instead() : commit(asked)));

describe("where such a commit fails", () => {
  const away = (): Promise<never> => Promise.reject(new StoreUnreachable("away"));

  test.each<readonly [string, Parameters<typeof from>[2], boolean]>([
    ["no store answers: the error leaves when every call has ended", away, false],
    ["another invocation has the run: so does the answer", () => ({ kind: "missing" }), true],
  ])("%s", async (_, instead, isAnswered) => {
    const on = stage();
    const { run, thaw } = held();
    let isLate = false;
    const first: Run = () => {
      isLate = true;
      return "sent";
    };
    const agent = beside({ first: { run: first }, other: { run } });
    const payload = await begin(on.world, agent, {});
    const ended = vi.fn<() => void>();
    const done = attempt(
      runnerOf(
        from(on.world, () => isLate, instead),
        agent,
      ),
      payload,
    );
    done.then(ended, ended);
    await rest();
    expect(ended).not.toHaveBeenCalled();
    thaw();
    if (isAnswered) expect(await done).toMatchObject({ kind: "beat", reply: { route: "superseded" } });
    else await expect(done).rejects.toThrow("away");
  });

  test.each([
    ["throws", away],
    ["is answered", () => ({ kind: "missing" }) as const],
  ])("and a call outlives its timeout meanwhile, its process has to end, also if it %s", async (_, instead) => {
    const on = stage();
    let isLate = false;
    const first: Run = () => {
      isLate = true;
      return "sent";
    };
    const agent = beside({ first: { run: first }, deaf: { run: never } });
    const payload = await begin(on.world, agent, {});
    const mustEnd = vi.fn<() => void>();
    const task = { payload, attempt: { execution: "x", epoch: 0, retry: 0 } };
    const { clock, limits } = on.world;
    const invocation = { deadline: clock.now() + limits.beatMs, drain: new AbortController().signal, mustEnd };
    const done = beat(
      runnerOf(
        from(on.world, () => isLate, instead),
        agent,
      ),
      task,
      invocation,
    );
    const begunAt = clock.now();
    const result = await passing(on, done).catch(() => "thrown");
    expect(clock.now()).toBeGreaterThanOrEqual(begunAt + 400 + limits.abortGraceMs);
    if (instead === away) expect([result, mustEnd.mock.calls.length]).toEqual(["thrown", 1]);
    else expect(result).toMatchObject({ kind: "exit", reply: { route: "superseded" } });
  });

  test("and nothing can act any more, its process may live on", async () => {
    const on = stage();
    let isLate = false;
    const act: Run = () => {
      isLate = true;
      return "sent";
    };
    const agent = beside({ act: { run: act } });
    const payload = await begin(on.world, agent, {});
    const mustEnd = vi.fn<() => void>();
    const task = { payload, attempt: { execution: "x", epoch: 0, retry: 0 } };
    const invocation = { deadline: on.clock.now() + BEAT_MS, drain: new AbortController().signal, mustEnd };
    const done = beat(
      runnerOf(
        from(on.world, () => isLate, away),
        agent,
      ),
      task,
      invocation,
    );
    await expect(passing(on, done)).rejects.toThrow("away");
    expect(mustEnd).not.toHaveBeenCalled();
  });

  test("since the state has grown too large, the other calls are recorded, and the next commit says so", async () => {
    const commitPending = vi.fn<() => Promise<never>>(() =>
      Promise.reject(new StateTooLarge("the state has too many bytes")),
    );
    const row = { takeovers: 0, chainClaims: 1 };
    const run = { now: 0, row, commitPending } as unknown as ActiveRun;
    const { open } = after(
      ...[startedEvent, replied(["a", "b", "c"].map((name) => calling(name)))],
      ...["c1", "c2", "c3"].map((call) => intended(call, "unsafe")),
    );
    const calls = open.map((each) => ({ open: each, ...held() }));
    const recorded: string[] = [];
    const done = runBatch(run, calls, {
      start: async (each) => ({ kind: "returned", value: await each.run() }),
      record: async ({ open }) => void recorded.push(open.call),
    });
    for (const { thaw } of calls) {
      thaw();
      await rest();
    }
    await done;
    expect([recorded, commitPending.mock.calls.length]).toEqual([["c1", "c2", "c3"], 1]);
  });
});

describe("a call that cannot be started", () => {
  /** Its schema takes the arguments whenever they are judged, and throws when they are parsed to be run. */
  function unparsable(effect: Tool["effect"], isMoody: () => boolean): Partial<Tool> & { readonly run: Run } {
    const input = z.object({});
    const parse: typeof input.parse = (value) => {
      if (isMoody()) throw null as unknown as Error;
      return z.object({}).parse(value);
    };
    return { effect, input: Object.assign(input, { parse }) as unknown as Tool["input"], run: () => "done" };
  }

  test("is told as one that did not happen, when those beside it have ended", async () => {
    const on = stage();
    const { run, thaw } = held();
    const agent = beside({ other: { run }, act: unparsable("unsafe", () => true) });
    const payload = await begin(on.world, agent, {});
    const ended = vi.fn<() => void>();
    const done = attempt(runnerOf(on.world, agent), payload);
    done.then(ended, ended);
    await rest();
    expect(ended).not.toHaveBeenCalled();
    thaw();
    expect(await passing(on, done)).toMatchObject({ kind: "beat" });
    const entries = (await ledger(on.world, payload.run)) ?? [];
    expect(entries).toMatchObject([{ status: "succeeded" }, { status: "failed", evidence: "it was never started" }]);
    const events = (await timeline(on.world, { run: payload.run, after: 0 })) ?? [];
    expect(JSON.stringify(events)).toContain(
      "NotStarted: its arguments could not be read again: null; it did not happen",
    );
  });

  test("is not told so where an earlier try gave no answer", async () => {
    const on = stage();
    let tries = 0;
    const act = {
      ...unparsable("keyed", () => tries > 0),
      run: (): Promise<never> => {
        tries += 1;
        return never();
      },
    };
    const agent = beside({ act });
    const payload = await begin(on.world, agent, {});
    await passing(on, drive(runnerOf(on.world, agent), payload));
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

test("a line for the operator that has no words does not make its call one that failed", async () => {
  const on = stage();
  const run: Run = ({ log }) => {
    log(Object.create(null) as string);
    log(Symbol("x") as unknown as string);
    return "sent";
  };
  const agent = beside({ act: { run } });
  const payload = await begin(on.world, agent, {});
  await drive(runnerOf(on.world, agent), payload);
  expect(await statuses(on, payload.run)).toEqual(["succeeded"]);
});
